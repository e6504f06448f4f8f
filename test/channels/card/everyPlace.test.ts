import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { whoseMailInWords } from "#src/channels/card/whoseMail.ts";
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

  const nobody = { colleague: null, put_aside: null, filed_by: null };
  const whose: [string, Parameters<typeof whoseMailInWords>[0], string][] = [
    [
      "a colleague",
      { ...nobody, kind: "customer", colleague: "sales@acme.example" },
      "From a colleague: sales@acme.example of this workspace.",
    ],
    [
      "a colleague who handed it over",
      { ...nobody, kind: "colleague", colleague: "sales@acme.example", put_aside: "hand_over" },
      "From a colleague: sales@acme.example of this workspace. It was handed over: it is addressed to this workspace alone.",
    ],
    ["a program", { ...nobody, kind: "program" }, "A program sent it, such as a web form or a notification."],
    [
      "somebody who filed it",
      {
        ...nobody,
        kind: "filed_by_hand",
        put_aside: "reaction",
        filed_by: { id: "u1", name: `Ann\u202e “x” ${"y".repeat(200)}` },
      },
      "It was put aside as a reaction: “Ann[U+202E] 'x' yyy",
    ],
    [
      "a key that filed it",
      { ...nobody, kind: "filed_by_hand", put_aside: "own_copy", filed_by: { id: "key-1" } },
      "It was put aside as a copy of our own mail: “key-1” filed it as a message.",
    ],
  ];
  for (const [who, mail, sentence] of whose)
    for (const [place, said] of textOfEachPlace({
      ...ordinary,
      warnings: whoseMailInWords(mail).map((words) => ({
        kind: "message_note" as const,
        sentence: `About the message that it answers: ${words}`,
      })),
    }))
      it(`${place}: the approver reads that the answered message is from ${who}`, () => {
        expect(said.replaceAll("&#39;", "'").replaceAll("\\", "")).to.include(
          `About the message that it answers: ${sentence}`,
        );
        expect(said).not.to.include("y".repeat(101));
      });

  it("the review card's first warning says that the message was answered already", () => {
    const authentication = { spf: "none", dkim: "none", dmarc: "none", aligned: false };
    const answers = { ...ordinary.answers!, authentication };
    const { warnings } = reviewCard({ ...ordinary, answers, answeredMeanwhile });
    expect(warnings[0]).to.match(/^This message was already answered/);
    expect(warnings).to.have.length(2);
  });

  const again = { service: "This is the last automatic request.", holder: "its holder asked for a new one" } as const;
  for (const by of ["service", "holder"] as const)
    for (const [place, said] of textOfEachPlace({ ...ordinary, askedAgain: { by, at: "2026-11-29T10:00:00.000Z" } }))
      it(`${place}: a request that repeats an expired one says so first (${by})`, () => {
        const words = said.replaceAll("\\", "").replace(/\s+/g, " ");
        expect(words).to.include(again[by]).and.to.include("29 Nov 2026, 10:00 UTC");
        expect(words.indexOf("Asked again: ")).to.be.within(0, words.indexOf("An agent wrote this"));
      });

  for (const [place, said] of textOfEachPlace({ ...ordinary, reachedLimit: "10 answers were sent" }))
    it(`${place}: the approver reads that the limit of answers is why they are asked`, () => {
      expect(said.replaceAll("\\", "")).to.include(
        "You are asked because 10 answers were sent: the other side may be a machine.",
      );
    });

  it("a mail about several drafts says whether a key or a rule may send one of them before the decision", () => {
    for (const said of bundleOf(true)) expect(said).to.include(only);
    for (const said of bundleOf(false)) expect(said).to.include(unless);
  });
});
