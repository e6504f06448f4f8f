import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import { readableLetter } from "#src/channels/readableLetter.ts";
import { slackMessages } from "#src/channels/slack/slackCard.ts";
import { questionMessages } from "#src/channels/telegram/questionMessages.ts";
import { letterView } from "#src/http/console/drafts/letterView.ts";
import { content, ordinary } from "../email/examples.ts";

const links = { approve: "https://c.example/a/AAA?d=approve", reject: "https://c.example/a/RRR?d=reject" };
const tokens = { approve: "A".repeat(43), reject: "R".repeat(43) };

const inConsole = ({ content }: ApprovalView, options: { frames: boolean }): string =>
  letterView({ content, rationale: null }, readableLetter({ content }), options).markup;

/** Returns the letter as each place shows it. */
function letterInEachPlace(view: ApprovalView): [place: string, shown: string][] {
  const card = reviewCard(view);
  const mail = renderApprovalMail(card, links);
  const asked = questionMessages({ card, tokens, link: links.approve, allowedUsers: null });
  return [
    ["the approval mail's text", mail.text],
    ["the approval mail's HTML", mail.html],
    ["Telegram", asked.parts.map(({ text }) => text).join("")],
    ["Slack", JSON.stringify(slackMessages(card, { links, tokens, deciding: "pressed" }))],
    ["the console on paper", inConsole(view, { frames: false })],
  ].map(([place = "", shown = ""]) => [place, shown.replaceAll("\u200c", "")]);
}

const withBodies = (body_html: string, body_text: string, textDerived = true): ApprovalView => ({
  ...ordinary,
  textDerived,
  content: { ...content, body_html, body_text, signature_html: null, signature_text: null },
});

describe("marks in a letter's text, where approvers read it", () => {
  const html =
    '<p>We will <s>not</s> pay 10<sup>00</sup> EUR for H<sub>2</sub>O.</p><ol start="1000"><li><u>soon</u></li></ol>';
  const view = withBodies(html, "We will ~~not~~ pay");

  for (const [place, shown] of letterInEachPlace(view))
    it(`struck, raised, lowered and underlined words have signs in ${place}`, () => {
      for (const words of ["We will ~~not~~ pay 10^00 EUR for H_2O.", "1000. {+soon+}"])
        expect(shown).to.include(words);
    });

  it("the approval page and the console show struck words as the HTML has them", () => {
    expect(reviewCard(view).letter.formatted?.pageHtml).to.equal(html);
    expect(inConsole(view, { frames: true })).to.include("We will &lt;s&gt;not&lt;/s&gt; pay");
  });

  it("a word that only the HTML strikes is named in a warning, unless the plain text strikes it too", () => {
    const warnings = (text: string) => reviewCard(withBodies("<p>We will <s>not</s> pay</p>", text, false)).warnings;
    expect(warnings("We will not pay").join(" ")).to.include(
      "Only the HTML says: “not (struck through)”. Only the plain text says: “not”.",
    );
    expect(warnings("We will ~~not~~ pay").join(" ")).not.to.include("Its HTML and its plain text differ");
  });

  it("a word that is newly struck through is listed as a change between two versions", () => {
    const before = withBodies("<p>We will not pay</p>", "We will not pay").content;
    const previous = { version: 1, content: before, textDerived: true, rationale: null, because: ["edit" as const] };
    const { changes } = reviewCard({ ...withBodies("<p>We will <s>not</s> pay</p>", ""), version: 2, previous });
    expect(changes?.text.filter(({ kind }) => kind !== "same").map(({ kind, text }) => [kind, text])).to.deep.equal([
      ["removed", "not"],
      ["added", "~~not~~"],
    ]);
  });
});
