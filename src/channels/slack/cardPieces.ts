import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { FieldValue } from "../card/fields.ts";
import type { Link } from "../card/links.ts";
import type { FoldedText } from "../card/quotes.ts";
import type { CardLetter, ReviewCard, ShownMessage } from "../card/reviewCard.ts";
import { type Block, chunks, divider, escaped, fits, header, label, note, sections } from "./blocks.ts";

/** A part of the card: as blocks, and as text for programs without blocks. `text` is escaped. */
export type CardPiece = { blocks: Block[]; text: string };

/** Maximum number of characters (as sent) and of lines. The page shows everything. */
const limits = {
  sentences: 5_000,
  fields: 6_000,
  letter: 20_000,
  letterLines: 400,
  message: 2_800,
  messageLines: 60,
  changes: 2_800,
  notes: 2_800,
  subject: 100,
};

/** Less than half of a section. */
const maxLine = 1_000;

/** Returns the whole card except its buttons, in reading order. Every text of the card is neutral already (blocks.ts). */
export const cardPieces = (card: ReviewCard): CardPiece[] =>
  [
    headline(card.question, shortLine(card.threadSubject, limits.subject)),
    ours([card.lead, card.approvals, card.escalation?.sentence]),
    listed("Beware", card.warnings),
    listed("Hints", card.hints),
    card.newer && said("The newer message", card.newer),
    card.changes && changes(card.changes),
    fields(card.letter),
    ...letterParts(card.letter),
    listed("Links in it", card.letter.links.map(linkInWords)),
    listed("Removed from its HTML when it was submitted", card.letter.removed),
    card.rationale === null ? null : theirs("Why the agent wrote it", [], writing(card.rationale)),
    card.answers && answered(card.answers),
  ].filter((piece): piece is CardPiece => piece !== null);

/** Returns what an approver is shown of their own edit before the last press: its warnings and changes. */
export const editPieces = (card: ReviewCard): CardPiece[] =>
  [listed("Beware", card.warnings), card.changes && changes(card.changes)].filter((piece) => piece !== null);

const headline = (question: string, subject: string): CardPiece => ({
  blocks: [header(`${question} ${subject}`)],
  text: escaped(`${question.toUpperCase()} ${subject}`),
});

/** Makes a piece of our own sentences, which may quote display names. */
function ours(sentences: (string | null | undefined)[]): CardPiece {
  const text = cut(sentences.filter(Boolean).join("\n"), limits.sentences).shown;
  return { blocks: sections(text), text: escaped(text) };
}

function listed(title: string, items: readonly string[]): CardPiece | null {
  if (items.length === 0) return null;
  const { shown, left } = cut(items.map((item) => `• ${item}`).join("\n"), limits.notes);
  const text = left === 0 ? shown : `${shown}\n${cutNote(left)}`;
  return { blocks: [label(title), ...sections(text)], text: `${escaped(title.toUpperCase())}\n${escaped(text)}` };
}

function fields({ fields: all, attachments }: CardLetter): CardPiece {
  const lines = all.map(({ label: name, values }) => `${name}: ${values.map(valueInWords).join(", ")}`);
  const files = attachments.map(({ name, description, warning }) =>
    [`Attached: ${name} (${description})`, warning].filter(Boolean).join(". "),
  );
  const { shown, left } = cut([...lines, ...files].join("\n"), limits.fields);
  const text = left === 0 ? shown : `${shown}\n${cutNote(left)}`;
  const title = "The draft";
  return {
    blocks: [divider, label(title), ...sections(text)],
    text: `${title.toUpperCase()}\n${escaped(text)}`,
  };
}

function valueInWords({ name, text, mark }: FieldValue): string {
  const address = name === null ? text : `${name} <${text}>`;
  return mark === null ? address : `${address} (! ${mark})`;
}

/** First what recipients will read: the HTML's words if there is HTML. */
function letterParts({ plain, formatted, differs }: CardLetter): CardPiece[] {
  if (formatted === null) return [letter("The text", plain)];
  const shown = letter("The text (from its HTML)", formatted);
  return differs ? [shown, letter("The plain text, which differs", plain)] : [shown];
}

const letter = (title: string, text: FoldedText): CardPiece =>
  theirs(title, [], writing(text.text, text.folded, { max: limits.letter, lines: limits.letterLines }));

const said = (title: string, { fromName, fromEmail, receivedAt, subject, text, folded }: ShownMessage): CardPiece =>
  theirs(
    title,
    [
      `From: ${fromName === null ? fromEmail : `${fromName} <${fromEmail}>`}`,
      `Subject: ${subject}`,
      `Received: ${readableTime(receivedAt)}`,
    ],
    writing(text, folded),
  );

function answered(message: NonNullable<ReviewCard["answers"]>): CardPiece {
  const piece = said("The message it answers", message);
  const files = message.attachments.map(({ name, description, warning }) =>
    [`Attached: ${name} (${description})`, warning].filter(Boolean).join(". "),
  );
  const facts = ours([`About its sender: ${message.proof.phrase}.`, ...files]);
  return { blocks: [...piece.blocks, ...facts.blocks], text: `${piece.text}\n${facts.text}` };
}

function changes({ since, sentences, fields: changed, text }: NonNullable<ReviewCard["changes"]>): CardPiece {
  const fieldSentences = changed.flatMap(({ label: name, removed, added }) => [
    ...removed.map((value) => `${name}, removed: ${value}`),
    ...added.map((value) => `${name}, added: ${value}`),
  ]);
  const signs = { same: " ", added: "+", removed: "-" };
  const lines = text.flatMap(({ kind, text: piece }) =>
    piece
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => `${signs[kind]} | ${line.trim()}`),
  );
  const all = [...sentences, ...fieldSentences, ...(lines.length > 0 ? ["(- removed, + added)", ...lines] : [])];
  const { shown, left } = cut(all.join("\n"), limits.changes, limits.messageLines);
  const title = `What changed since version ${since}`;
  const body = left === 0 ? shown : `${shown}\nThere are more changes; see the review page.`;
  return { blocks: [label(title), ...sections(body)], text: `${title.toUpperCase()}\n${escaped(body)}` };
}

/** Makes a piece of quoted text, with a bar at the beginning of each line so that it cannot pass for ours. */
function theirs(title: string, head: string[], lines: string): CardPiece {
  const blocks = [label(title), ...(head.length > 0 ? sections(head.join("\n")) : []), ...sections(lines)];
  return { blocks, text: [escaped(title.toUpperCase()), ...head.map(escaped), escaped(lines)].join("\n") };
}

function writing(
  text: string,
  folded = "",
  { max, lines: mostLines }: { max: number; lines: number } = { max: limits.message, lines: limits.messageLines },
): string {
  const { shown, left } = cut(text.trim() || "(no text)", max, mostLines);
  const notes = [left > 0 ? cutNote(left) : null, foldedNote(folded)].filter((sentence) => sentence !== null);
  return [...shown.split("\n").flatMap(barred), ...notes].join("\n");
}

/** A long line gets several bars, because Slack may start a new section in the middle of it. */
const barred = (line: string): string[] =>
  line.trim() === "" ? ["|"] : chunks(line, maxLine).map((part) => `| ${part.trimEnd()}`);

function foldedNote(folded: string): string | null {
  if (folded === "") return null;
  const lines = folded.split("\n").length;
  return `(${lines} quoted ${lines === 1 ? "line" : "lines"} left out; see the review page)`;
}

const cutNote = (left: number): string =>
  `… ${left.toLocaleString("en")} more ${left === 1 ? "character" : "characters"}; see the review page`;

/** Cuts a text to at most `max` characters after escaping, and at most `mostLines` lines. `left`: number of characters left out. */
function cut(text: string, max: number, mostLines = Number.POSITIVE_INFINITY): { shown: string; left: number } {
  const lines = text.split("\n");
  const whole = lines.length <= mostLines ? text : lines.slice(0, mostLines).join("\n");
  const shown = whole.slice(0, fits(whole, max));
  return { shown, left: [...text].length - [...shown].length };
}

const linkInWords = ({ text, target }: Link): string =>
  text === null ? target : `“${shortLine(text, 80)}” → ${target}`;

/** The last lines of the card: its version, who may decide, and until when. */
export const factsPiece = (card: ReviewCard, whoDecides: string): CardPiece => {
  const text = `Version ${card.version}, content ${card.contentSha256.slice(0, 12)}. It can be decided until ${readableTime(card.expiresAt)}, and only this version. ${whoDecides}`;
  return { blocks: [note(text)], text: escaped(text) };
};
