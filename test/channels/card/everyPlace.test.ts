import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { renderBundleMail } from "#src/channels/email/bundleMail.ts";
import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import { slackMessages } from "#src/channels/slack/slackCard.ts";
import { questionMessages } from "#src/channels/telegram/questionMessages.ts";
import { reviewPage } from "#src/http/approvalPages/reviewPage.ts";
import { carded, ordinary } from "../email/examples.ts";

const links = { approve: "https://c.example/a/AAA?d=approve", reject: "https://c.example/a/RRR?d=reject" };
const tokens = { approve: "A".repeat(43), reject: "R".repeat(43) };

/** Returns the text of each place where an approver is asked. */
function textOfEachPlace(view: ApprovalView): [place: string, said: string][] {
  const shown = carded(view);
  const { card } = shown;
  const mail = renderApprovalMail(card, links);
  const asked = questionMessages({ card, tokens, link: links.approve, allowedUsers: null });
  const nonces = { approve: "a", reject: "r", request_changes: "c" };
  return [
    ["the approval mail's text", mail.text],
    ["the approval mail's HTML", mail.html],
    ["the approval page", reviewPage(shown, { first: "approve", nonces })],
    ["Telegram", asked.parts.map(({ text }) => text).join("")],
    ["Slack", JSON.stringify(slackMessages(card, { links, tokens, deciding: "pressed" }))],
  ].map(([place = "", said = ""]) => [place, said.replaceAll("\u200c", "").replace(/\s+/g, " ")]);
}

const bundleOf = (humanRequired: boolean) => {
  const drafts = [{ subject: "Re: Order", to: ["marta@posten.example"] }];
  const { text, html } = renderBundleMail({
    count: 1,
    drafts,
    link: "https://c.example/l/T",
    humanRequired,
    namedOnly: false,
    expiresAt,
  });
  return [text, html].map((said) => said.replace(/\s+/g, " "));
};
const expiresAt = "2026-11-23T09:00:00.000Z";

const only = "Nothing is sent before you decide.";
const unless = "Nothing is sent before you decide, unless a program with an API key or a rule sends it first.";

describe("wording in every place where an approver is asked", () => {
  for (const [place, said] of textOfEachPlace({ ...ordinary, humanRequired: true }))
    it(`${place}: nothing is sent before the approver decides, where human approval is required`, () => {
      expect(said).to.include(only);
    });

  for (const [place, said] of textOfEachPlace({ ...ordinary, humanRequired: false }))
    it(`${place}: an API key or a rule may send first, where human approval is not required`, () => {
      expect(said).to.include(unless).and.not.to.include(only);
    });

  const answeredMeanwhile = {
    by: "Lena Lead",
    elsewhere: "sales@acme.example",
    at: "2026-11-20T13:19:00.000Z",
    subject: "Re: Order 48213",
    text: `Hello Marta, done.\n${"x".repeat(5_000)}`,
  };
  for (const [place, said] of textOfEachPlace({ ...ordinary, answeredMeanwhile }))
    it(`${place}: the approver reads who answered the message already, when, and the start of the text`, () => {
      expect(said).to.include(
        "This message was already answered from “sales@acme.example”, by “Lena Lead” on 2026-11-20 at 13:19 UTC: “Re: Order 48213”: “Hello Marta, done.",
      );
      expect(said).not.to.include("x".repeat(301));
    });

  const otherDrafts = [{ subject: "Re: Order 48213", text: "We pay you back.", at: "2026-11-20T08:20:00.000Z" }];
  for (const [place, said] of textOfEachPlace({ ...ordinary, otherDrafts }))
    it(`${place}: the approver reads of another draft that waits for a decision on the same message`, () => {
      expect(said).to.include(
        "Another draft waits for a decision on the same message: “Re: Order 48213”: “We pay you back.” (submitted on 2026-11-20 at 08:20 UTC).",
      );
    });

  it("the review card's first warning says that the message was answered already", () => {
    const authentication = { spf: "none", dkim: "none", dmarc: "none", aligned: false };
    const answers = { ...ordinary.answers!, authentication };
    const { warnings } = reviewCard({ ...ordinary, answers, answeredMeanwhile });
    expect(warnings[0]).to.match(/^This message was already answered/);
    expect(warnings).to.have.length(2);
  });

  it("a mail about several drafts says whether a key or a rule may send one of them before the decision", () => {
    for (const said of bundleOf(true)) expect(said).to.include(only);
    for (const said of bundleOf(false)) expect(said).to.include(unless);
  });
});
