import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { readButton } from "#src/channels/telegram/buttons.ts";
import { conclusionMessage } from "#src/channels/telegram/conclusion.ts";
import { questionMessages } from "#src/channels/telegram/questionMessages.ts";
import { inMessages, maxMessageLength, type Styled } from "#src/channels/telegram/styled.ts";
import { content, ordinary } from "../email/examples.ts";

const tokens = { approve: "A".repeat(43), reject: "R".repeat(43) };
const link = "https://mail.example.com/a/token?d=approve";

const shown = (view: ApprovalView, different: { link?: string | null } = {}) =>
  questionMessages({ card: reviewCard(view), tokens, link, allowedUsers: null, ...different });
const withBody = (body_text: string, more: Partial<ApprovalView> = {}): ApprovalView => ({
  ...ordinary,
  content: { ...content, body_text, signature_text: null },
  ...more,
});
const textOf = ({ parts }: { parts: Styled[] }) => parts.map(({ text }) => text).join("");

/** Fails for a message that Telegram would refuse or change. */
function expectValidMessage({ text, entities }: Styled): void {
  expect(text.length).to.be.within(1, maxMessageLength);
  expect(text).to.equal(text.trimStart());
  expect(text).not.to.match(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
  for (const { offset, length } of entities) {
    expect(length).to.be.above(0);
    expect(offset + length).to.be.at.most(text.length);
  }
  expect(entities.length).to.be.at.most(100);
}

describe("the card in Telegram", () => {
  it("the Telegram card shows warnings, recipients, text, reason and answered message, and the question below", () => {
    const answers = {
      ...ordinary.answers!,
      authentication: { spf: "none", dkim: "none", dmarc: "none", aligned: false },
    };
    const card = shown({ ...ordinary, answers });
    const text = textOf(card);
    const order = [
      "⚠️ We could not verify",
      "To: marta",
      "The text",
      "torn cover. A new copy",
      "Why the agent",
      "The message it answers",
      "the atlas came today",
    ];
    expect(order.map((each) => text.indexOf(each))).to.deep.equal(
      order.map((each) => text.indexOf(each)).sort((a, b) => a - b),
    );
    expect(
      order.every((each) => text.includes(each)),
      text,
    ).to.equal(true);
    expect(card.question.text)
      .to.match(/^Send this reply\?\nOrder 48213 arrived damaged/)
      .and.contain("1 warning above");
    expect(card.keyboard.flat().map(({ text }) => text)).to.deep.equal([
      "Approve & send",
      "Reject",
      "Ask for changes",
      "Open the page",
    ]);
    for (const message of [...card.parts, card.question]) expectValidMessage(message);
  });

  it("the Telegram buttons carry at most 64 bytes, which are read as action and token", () => {
    const [[approve, reject] = []] = shown(ordinary).keyboard as { callback_data: string }[][];
    for (const { callback_data } of [approve!, reject!]) expect(Buffer.byteLength(callback_data)).to.be.at.most(64);
    expect(readButton(approve!.callback_data)).to.deep.equal({ action: "approve", token: tokens.approve });
    expect(readButton(reject!.callback_data)).to.deep.equal({ action: "reject", token: tokens.reject });
  });

  it("the Telegram card has no button with a private address, which Telegram would refuse", () => {
    for (const local of [
      "http://localhost:8080/a/x",
      "http://127.0.0.1/a/x",
      "https://10.0.0.1/a/x",
      "https://box.local/a/x",
    ]) {
      const { keyboard, question } = shown(ordinary, { link: local });
      expect(keyboard.flat().filter((button) => "url" in button)).to.deep.equal([]);
      expect(question.entities.filter(({ url }) => url)).to.deep.equal([]);
      expect(question.text).to.contain(local);
    }
  });

  it("the Telegram card shows markup and direction marks as text, and nothing from others can be tapped", () => {
    const hostile =
      "<b>bold</b> &amp; *stars* _under_ `code` [x](http://evil.example) \u202egnp.exe @admin /start #tag https://evil.example a@evil.example";
    const { parts } = shown(withBody(hostile, { rationale: hostile }));
    const text = parts.map((part) => part.text).join("");
    expect(text).to.contain("<b>bold</b> &amp; *stars* _under_ `code`").and.contain("[U+202E]gnp");
    expect(text).not.to.match(/https:\/\/|evil\.example|a@evil|@admin|\/start|#tag|\u202e/);
    expect(parts.flatMap(({ entities }) => entities).filter(({ url }) => url)).to.deep.equal([]);
    // Text by others is in a block quotation.
    const quotes = parts[0]!.entities.filter(({ type }) => type === "blockquote");
    expect(quotes.map(({ offset, length }) => parts[0]!.text.slice(offset, offset + length)).join()).to.contain(
      "*stars*",
    );
  });

  it("the Telegram card continues a long text in further messages, without losing words or dividing characters", () => {
    const words = Array.from({ length: 1_800 }, (_, index) => `word${index}`).join(" ");
    const family = "👩‍👩‍👧‍👦".repeat(300);
    const card = shown(withBody(`${words}\n${family}\nThe end.`));
    expect(card.parts.length).to.be.within(4, 6);
    for (const message of card.parts) expectValidMessage(message);
    expect(textOf(card)).to.contain(words.slice(0, 2_000)).and.contain("The end.");
    expect(textOf(card).replace(/\s/g, "")).to.contain(words.replace(/\s/g, "")).and.contain(family);
    for (const { text } of card.parts) expect(text).not.to.match(/^\u200d|\u200d$/);
    expect(card.question.text).not.to.contain("not shown");
  });

  it("the Telegram card cuts a draft of 100 KB after six messages and says how much is missing and where it is", () => {
    const card = shown(withBody(`${"Tomorrow. ".repeat(10_000)}The end.`));
    expect(card.parts).to.have.length(6);
    for (const message of card.parts) expectValidMessage(message);
    const [, count = ""] =
      /([\d,]+) more characters are not shown here. Read the rest on the page/.exec(card.question.text) ?? [];
    const missing = Number(count.replace(/,/g, ""));
    expect(missing).to.be.within(70_000, 80_000);
    expect(shown(withBody("Tomorrow. ".repeat(10_000)), { link: null }).parts).to.have.length(14);
  });

  it("inMessages loses no text, wherever it divides it", () => {
    const text = "one two\nthree four five 👩‍👩‍👧‍👦 six\n\nseven éé eight";
    for (let length = 12; length < text.length; length++) {
      const { messages, left } = inMessages([{ text }, { text }], { length, most: 100 });
      expect(left).to.equal(0);
      const pieces = messages.map((spans) => spans.map((span) => span.text).join(""));
      for (const piece of pieces) expect(piece.length).to.be.within(1, length);
      expect(pieces.join("").replace(/\s/g, ""), `${length}`).to.equal(`${text}${text}`.replace(/\s/g, ""));
    }
  });
});

describe("a text without blanks", () => {
  it("inMessages divides a text without blanks between whole emoji", () => {
    const family = "👩‍👩‍👧‍👦";
    for (let length = 100; length < 160; length++) {
      const { messages } = inMessages([{ text: family.repeat(60) }], { length, most: 100 });
      expect(messages.map(([span]) => span!.text.length % family.length)).to.deep.equal(messages.map(() => 0));
    }
  });
});

describe("the page about the card in Telegram", () => {
  const page = readFileSync("src/channels/telegram/card.md", "utf8");
  const blocks = [...page.matchAll(/```text\n(.*?)\n```/gs)].map(([, block]) => block);

  it("src/channels/telegram/card.md shows the card, the question and the concluded message as they are sent", () => {
    const { parts, question, keyboard } = shown(ordinary);
    const buttons = keyboard.map((row) => row.map(({ text }) => `[ ${text} ]`).join(" ")).join("\n");
    const card = [...parts, question].map(({ text }) => text).join("\n\n---\n\n");
    const seen = (text: string) => text.replaceAll("\u200c", "");
    expect(blocks[0]).to.equal(`${seen(card)}\n\n${buttons}`);
    const sentence = "Approved by Zoë Lind, 20 Nov 2026, 09:12 UTC. Sent, 20 Nov 2026, 09:12 UTC.";
    expect(blocks[1]).to.equal(seen(conclusionMessage({ sentence, threadSubject: ordinary.threadSubject }).text));
  });
});
