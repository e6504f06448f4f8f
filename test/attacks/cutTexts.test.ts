import { expect } from "chai";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { excerpt } from "#src/channels/email/excerpt.ts";
import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import { hintsAbout } from "#src/channels/hints/hints.ts";
import { sentencesOf } from "#src/channels/hints/sentences.ts";
import { chunks, header } from "#src/channels/slack/blocks.ts";
import { slackMessages } from "#src/channels/slack/slackCard.ts";
import { cardSpans } from "#src/channels/telegram/cardSpans.ts";
import { conclusionMessage } from "#src/channels/telegram/conclusion.ts";
import { inMessages } from "#src/channels/telegram/styled.ts";
import { searchTextOf } from "#src/commands/searchText.ts";
import { shortLine } from "#src/html/visible.ts";
import { pathTo } from "#src/http/framework/body/parseJson.ts";
import { pieceOf } from "#src/http/mcp/bounds.ts";
import { untrustedLine } from "#src/http/mcp/fence.ts";
import { attachmentNamed } from "#src/http/present/files.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { textOfCalendar } from "#src/mail/in/text/calendar.ts";
import { requireObject } from "#streams/rule/validation.ts";
import { content, ordinary } from "../channels/email/examples.ts";

/** Characters of several code points, and of several UTF-16 units. */
const characters = { family: "👨‍👩‍👧‍👦", accent: "x\u0308", flag: "🇩🇪", letter: "𝒜", keycap: "1️⃣" };

const links = { approve: "https://c.example/a/AAA?d=approve", reject: "https://c.example/a/RRR?d=reject" };
const tokens = { approve: "A".repeat(43), reject: "R".repeat(43) };

const cardOf = (text: string) =>
  reviewCard({
    ...ordinary,
    threadSubject: text,
    rationale: text,
    answers: { ...ordinary.answers!, fromName: text, subject: text, newText: text },
    content: {
      ...content,
      body_text: text,
      body_html: `<p><a href="https://shop.example/">${text}</a></p>`,
    },
  });
const changedCardOf = (text: string) => {
  const was = { ...content, body_text: `${text} one` };
  const previous = { version: 1, content: was, textDerived: false, rationale: "", because: ["edit" as const] };
  return reviewCard({ ...ordinary, version: 2, previous, content: { ...content, body_text: `${text} two` } });
};
const rfc822 = (text: string) =>
  Buffer.from(
    `From: =?utf-8?b?${Buffer.from(text.slice(0, 900)).toString("base64")}?= <a@b.example>\r\nSubject: x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(text).toString("base64")}\r\n`,
  );

const limits = { maxTextBytes: 1_000, maxHtmlBytes: 1_000, maxAttachments: 10 };

/** Every place that cuts others' words, with the length of text that it is given. */
const places: Record<string, [length: number, shown: (text: string) => unknown]> = {
  "a line": [900, (text) => shortLine(text, 80)],
  "a line of which only the beginning is read": [3_000, (text) => shortLine(text, 80)],
  "an excerpt in a mail": [900, (text) => excerpt(text, 200, 10).shown],
  "the approval mail": [9_000, (text) => renderApprovalMail(cardOf(text), links).text],
  "the card in Telegram": [9_000, (text) => cardSpans(cardOf(text))],
  "what changed, in Telegram": [2_000, (text) => cardSpans(changedCardOf(text))],
  "messages in Telegram": [9_000, (text) => inMessages([{ text }], { most: 2 }).messages],
  "an outcome in Telegram": [9_000, (text) => conclusionMessage({ sentence: text, threadSubject: text }).text],
  "the card in Slack": [9_000, (text) => slackMessages(cardOf(text), { links, tokens, deciding: "pressed" })],
  "parts in Slack": [9_000, (text) => chunks(text, 2_900)],
  "a headline in Slack": [900, (text) => header(text)],
  "sentences in which hints are looked for": [3_000, (text) => sentencesOf(text)],
  "a very long text in which hints are looked for": [90_000, (text) => sentencesOf(text)],
  "a hint": [
    300,
    (text) => hintsAbout({ subject: "", newText: `Send me your password: ${text}`, text: "", html: null }),
  ],
  "the text of a large mail that is searched": [9_000, (text) => searchTextOf(text)],
  "a piece for an assistant": [900, (text) => pieceOf(text, { most: 200 }).text],
  "a line for an assistant": [900, (text) => untrustedLine(text, 80)],
  "a download's name": [900, (text) => decodeURIComponent(attachmentNamed(`${text}.pdf`).split("''")[1]!)],
  "a field's name in an error": [300, (text) => JSON.parse(pathTo("", text))],
  "a rule's field in an error": [
    300,
    (text) => {
      try {
        requireObject({ [text]: 1 }, "rule", ["name"]);
      } catch (error) {
        return (error as Error).message;
      }
      return expect.fail("not refused");
    },
  ],
  "a header field": [900, (text) => storableLine(text, 256)],
  "an invitation to an appointment": [
    900,
    (text) => textOfCalendar(`BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:${text}\nEND:VEVENT\nEND:VCALENDAR`),
  ],
  "a mail with more text than is shown": [3_000, async (text) => (await parseMail(rfc822(text), limits)).bodyText],
};

/** Places that leave invisible characters out, so that a family is four people there. */
const changes: [place: RegExp, written: (character: string) => string][] = [
  [/hint/, (character) => character.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "")],
  [/download/, (character) => character.replace(/\p{Cf}/gu, "")],
];
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const written = (place: string, character: string): string[] => {
  const change = changes.find(([pattern]) => pattern.test(place))?.[1] ?? String;
  return [...segmenter.segment(change(character))].map(({ segment }) => segment);
};

/** Returns what is left of a shown text without its whole characters: a part of one, or a sign that stands for half a letter. */
const partsIn = (shown: string, whole: readonly string[]): string[] =>
  [...whole, "⚠️"]
    .reduce((left, one) => left.replaceAll(one, ""), shown)
    .match(/[\u200d\ufe0f\u20e3\u0308\ufffd]|[\u{1f1e6}-\u{1f1ff}]|\p{Cs}|👨|👩|👧|👦|U\+D[89A-F]/gu) ?? [];

describe("texts that are cut", () => {
  for (const [place, [length, show]] of Object.entries(places))
    it(`${place} ends between two characters, wherever the limit falls`, async () => {
      for (const [name, character] of Object.entries(characters))
        for (let before = 0; before < character.length; before++) {
          const text = `${"a".repeat(before)}${character.repeat(Math.ceil(length / character.length))}`;
          const shown = await show(text);
          const said = typeof shown === "string" ? shown : JSON.stringify(shown);
          expect(said.length, "shows nothing").to.be.greaterThan(20);
          expect(partsIn(said, written(place, character)).slice(0, 5), `${name} after ${before}`).to.deep.equal([]);
        }
    });
});
