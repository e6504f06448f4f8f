import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { versionWarnings } from "#src/channels/approvalWarnings.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { warningWords } from "#src/channels/warningWords.ts";
import { isOfVersion, type VersionWarning, warningKinds } from "#streams/draft/warnings.ts";
import { changed, content, hostile, longWords, newer, ordinary, rightToLeft, withHtml } from "../email/examples.ts";

const withContent = (change: Partial<ApprovalView["content"]>, more: Partial<ApprovalView> = {}): ApprovalView => ({
  ...ordinary,
  ...more,
  content: { ...content, ...change },
});
const file = { name: "a.exe", size: 1, declaredType: "text/plain", kind: null, download: null };

/** A view for each kind that is stored, with that kind among its warnings. */
const causes: Record<Exclude<VersionWarning, "not_examined">, ApprovalView> = {
  addresses_agent: { ...ordinary, hints: [{ kind: "addresses_agent", sentence: "It addresses an AI." }] },
  hidden_words: { ...ordinary, hints: [{ kind: "hidden_words", sentence: "It has hidden words." }] },
  asks_for_secrets: { ...ordinary, hints: [{ kind: "asks_for_secrets", sentence: "It asks for a secret." }] },
  changes_payment: { ...ordinary, hints: [{ kind: "changes_payment", sentence: "It changes payment data." }] },
  other_recipient: withContent({ to: ["eve@x.example"] }),
  replies_leave: withContent({ reply_to: "eve@x.example" }, { repliesLeave: true }),
  new_recipient: withContent({ cc: ["eve@x.example"] }),
  many_recipients: withContent({ cc: Array(6).fill(ordinary.participants[0]) }),
  hidden_recipient: withContent({ bcc: ["eve@x.example"] }),
  lookalike_address: withContent({ to: ["m\u0430rta@posten.example"] }),
  misleading_link: withContent({ body_html: '<a href="https://evil.example/">www.bank.example</a>' }),
  risky_file: { ...ordinary, attachments: [{ ...file, warning: "It can run code." }] },
  forms_differ: withContent({ body_html: "<p>We pay.</p>", body_text: "We do not pay." }),
  unseen_characters: withContent({ subject: "Invoice \u202e" }),
  absence_notice: { ...ordinary, hints: [{ kind: "absence_notice", sentence: "It looks like an absence notice." }] },
  message_note: { ...ordinary, warnings: [{ kind: "message_note", sentence: "A part could not be read." }] },
};

/** The kinds of all warnings and hints of a card. */
const kindsOnCard = (view: ApprovalView) => [
  ...reviewCard(view).placedWarnings.map(({ kind }) => kind),
  ...view.hints.map(({ kind }) => kind),
];

describe("the warnings that are stored with a version", () => {
  it("an ordinary draft has none", () => {
    expect(versionWarnings(ordinary)).to.deep.equal([]);
  });

  for (const [kind, view] of Object.entries(causes)) {
    it(`the cause of ${kind} is found`, () => {
      expect(versionWarnings(view)).to.include(kind);
    });
  }

  it("they are the warnings and hints of the version's card, without those that may change after the version was made", () => {
    for (const view of [ordinary, withHtml, changed, rightToLeft, hostile, longWords, ...Object.values(causes)]) {
      const onCard = kindsOnCard(view);
      expect(versionWarnings(view)).to.deep.equal(
        warningKinds.filter((kind) => isOfVersion(kind) && onCard.includes(kind)),
      );
    }
  });

  it("newer mail, another answer, another draft and an unproven sender are on the card and are not stored", () => {
    const authentication = { spf: "fail", dkim: "none", dmarc: "none", aligned: false };
    const other = { subject: "Hi", text: "Hello", at: "2026-01-01T00:00:00.000Z" };
    const view: ApprovalView = {
      ...ordinary,
      newerMessage: newer,
      answeredMeanwhile: { ...other, by: "Ann", elsewhere: null },
      otherDrafts: [other],
      answers: { ...ordinary.answers!, authentication },
    };
    expect(kindsOnCard(view)).to.deep.equal(["answered_meanwhile", "newer_message", "other_draft", "unproven_sender"]);
    expect(versionWarnings(view)).to.deep.equal([]);
  });

  it("each kind has its own words", () => {
    expect(new Set(Object.values(warningWords)).size).to.equal(warningKinds.length);
  });
});
