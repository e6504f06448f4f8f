import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { cutText } from "#streams/cutText.ts";
import type { Changes } from "../card/changes.ts";
import type { CardField, FieldValue } from "../card/fields.ts";
import type { Link } from "../card/links.ts";
import type { FoldedText } from "../card/quotes.ts";
import type { CardLetter, ReviewCard, ShownMessage } from "../card/reviewCard.ts";
import { unlinkedInChat } from "./inert.ts";
import type { StyledSpan } from "./styled.ts";

/** Maximum number of characters, pieces and lines of the text around the letter; the letter itself may fill all messages. */
const limits = { rationale: 1_500, message: 2_000, changes: 1_500, pieces: 60, listed: 8 };

/**
 * Renders the card as one text, most important first: warnings, changes, recipients, the letter, the rationale, the answered message.
 * Quoted text is behind a bar, and nothing in it can be tapped.
 */
export function cardSpans(card: ReviewCard): StyledSpan[] {
  const { letter } = card;
  const parts: StyledSpan[][] = [
    [{ text: card.question, style: "bold" }, plain(`\n${inert(card.lead)}`)],
    lines(card.warnings, "⚠️ "),
    lines(card.hints, "Hint: "),
    card.newer ? [title("The newer message"), ...message(card.newer)] : [],
    card.changes ? changes(card.changes) : [],
    [title("The draft"), ...fields(letter)],
    ...letterParts(letter),
    listed("Links in it", letter.links.map(linkInWords)),
    listed("Removed from its HTML when it was submitted", letter.removed),
    card.rationale === null ? [] : [title("Why the agent wrote it"), quote(card.rationale, limits.rationale)],
    card.answers
      ? [
          title("The message it answers"),
          ...message(card.answers),
          plain(`\n${inert(card.answers.proof.phrase)}`),
          ...files(card.answers.attachments),
        ]
      : [],
  ];
  return apart(parts);
}

/** Preview of an approver's own edit: its warnings, its changes and the complete mail. */
export function editSpans(card: ReviewCard): StyledSpan[] {
  const parts = [
    lines(card.warnings, "⚠️ "),
    card.changes ? changes(card.changes) : [],
    [title("The edited draft"), ...fields(card.letter)],
    ...letterParts(card.letter),
    listed("Links in it", card.letter.links.map(linkInWords)),
  ];
  return apart(parts);
}

/** Joins parts with an empty line between them. */
const apart = (parts: readonly StyledSpan[][]): StyledSpan[] =>
  parts.filter((part) => part.length > 0).flatMap((part, index) => (index === 0 ? part : [{ text: "\n\n" }, ...part]));

const inert = unlinkedInChat;
const plain = (text: string): StyledSpan => ({ text });
const title = (text: string): StyledSpan => ({ text: `${text}\n`, style: "bold" });

const lines = (sentences: readonly string[], mark: string): StyledSpan[] =>
  sentences.length === 0 ? [] : [plain(sentences.map((sentence) => `${mark}${inert(sentence)}`).join("\n"))];

/** Quotes a text, at most `max` characters of it. */
function quote(text: string, max = Number.POSITIVE_INFINITY): StyledSpan {
  const shown = cutText(text, max);
  const left = text.length - shown.length;
  const note = left > 0 ? `\n… ${left.toLocaleString("en")} more characters; see the page` : "";
  return { text: `${inert(shown) || "(no text)"}${note}`, style: "quote" };
}

const message = ({ fromName, fromEmail, subject, receivedAt, text, folded }: ShownMessage): StyledSpan[] => [
  plain(
    inert(
      `From ${valueInWords({ name: fromName, text: fromEmail, mark: null })}\n${subject}\n${readableTime(receivedAt)}\n`,
    ),
  ),
  quote(text, limits.message),
  ...foldedNote(folded),
];

function fields(letter: CardLetter): StyledSpan[] {
  const all = letter.fields.map(({ label, values }: CardField) => `${label}: ${values.map(valueInWords).join(", ")}`);
  return [plain(inert(all.join("\n"))), ...files(letter.attachments)];
}

const valueInWords = ({ name, text, mark }: FieldValue): string =>
  `${name === null ? text : `${name} <${text}>`}${mark === null ? "" : ` (⚠️ ${mark})`}`;

const files = (attachments: CardLetter["attachments"]): StyledSpan[] =>
  attachments.map(({ name, description, warning }) =>
    plain(inert(`\nAttached: ${name} (${description})${warning === null ? "" : ` ⚠️ ${warning}`}`)),
  );

/** First what recipients will read: the HTML's words if there is HTML. */
function letterParts({ plain: text, formatted, differs }: CardLetter): StyledSpan[][] {
  const part = (label: string, { text, folded }: FoldedText): StyledSpan[] => [
    title(label),
    quote(text),
    ...foldedNote(folded),
  ];
  if (formatted === null) return [part("The text", text)];
  const shown = part("The text (from its HTML)", formatted);
  return differs ? [shown, part("The plain text, which differs", text)] : [shown];
}

function foldedNote(folded: string): StyledSpan[] {
  if (folded === "") return [];
  const count = folded.split("\n").length;
  return [plain(`\n(${count} quoted ${count === 1 ? "line" : "lines"} left out; see the page)`)];
}

function listed(label: string, values: readonly string[]): StyledSpan[] {
  if (values.length === 0) return [];
  const more = values.length - limits.listed;
  const shown = values.slice(0, limits.listed).map(inert);
  return [title(label), plain([...shown, ...(more > 0 ? [`and ${more} more; see the page`] : [])].join("\n"))];
}

const linkInWords = ({ text, target }: Link): string =>
  text === null ? target : `“${shortLine(text, 80)}” → ${target}`;

/** Underlined is new, struck through is removed; the page compares both whole versions side by side. */
function changes({ since, sentences, fields, text }: Changes): StyledSpan[] {
  const said = [
    ...sentences,
    ...fields.flatMap(({ label, removed, added }) => [
      ...removed.map((value) => `${label}, removed: ${value}`),
      ...added.map((value) => `${label}, added: ${value}`),
    ]),
  ];
  let left = limits.changes;
  const pieces = text.slice(0, limits.pieces).filter((piece) => {
    left -= piece.text.length;
    return left >= 0;
  });
  const style = { same: undefined, added: "underline", removed: "strikethrough" } as const;
  return [
    title(`What changed since version ${since}`),
    plain(inert(said.join("\n"))),
    ...(pieces.length > 0 ? [plain("\nUnderlined is new, struck through is gone.\n")] : []),
    ...pieces.map(({ kind, text }): StyledSpan => ({ text: inert(text), ...(style[kind] && { style: style[kind] }) })),
    ...(pieces.length < text.length ? [plain("\nThere are more changes; see the page.")] : []),
  ];
}
