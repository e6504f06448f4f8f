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

/** The letter as each place shows it that an approver decides in. */
function shownBy(view: ApprovalView): [place: string, shown: string][] {
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

describe("marks of a letter, where approvers decide", () => {
  const html =
    '<p>We will <s>not</s> pay 10<sup>00</sup> EUR for H<sub>2</sub>O.</p><ol start="1000"><li><u>soon</u></li></ol>';
  const view = withBodies(html, "We will ~~not~~ pay");

  for (const [place, shown] of shownBy(view))
    it(`are shown as signs in ${place}`, () => {
      for (const words of ["We will ~~not~~ pay 10^00 EUR for H_2O.", "1000. {+soon+}"])
        expect(shown).to.include(words);
    });

  it("are shown as they are on the page and in the console", () => {
    expect(reviewCard(view).letter.formatted?.pageHtml).to.equal(html);
    expect(inConsole(view, { frames: true })).to.include("We will &lt;s&gt;not&lt;/s&gt; pay");
  });

  it("are a difference that a warning names in words, unless the text has them too", () => {
    const warnings = (text: string) => reviewCard(withBodies("<p>We will <s>not</s> pay</p>", text, false)).warnings;
    expect(warnings("We will not pay").join(" ")).to.include(
      "Only the HTML says: “not (struck through)”. Only the plain text says: “not”.",
    );
    expect(warnings("We will ~~not~~ pay").join(" ")).not.to.include("do not say the same");
  });

  it("are a change between two versions", () => {
    const before = withBodies("<p>We will not pay</p>", "We will not pay").content;
    const previous = { version: 1, content: before, textDerived: true, rationale: null, because: ["edit" as const] };
    const { changes } = reviewCard({ ...withBodies("<p>We will <s>not</s> pay</p>", ""), version: 2, previous });
    expect(changes?.text.filter(({ kind }) => kind !== "same").map(({ kind, text }) => [kind, text])).to.deep.equal([
      ["removed", "not"],
      ["added", "~~not~~"],
    ]);
  });
});
