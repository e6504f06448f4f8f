import { cutText } from "#streams/cutText.ts";
import { type MailText, readMailHtml } from "./html/mailText.ts";
import { encryptedNote } from "./mime/contents.ts";
import { textOfPart } from "./mime/decodedPart.ts";
import type { Part } from "./mime/partTree.ts";
import { ownWords } from "./quotes/parts.ts";
import { mostWriters, writersIn } from "./quotes/writers.ts";
import { storable, storableLine } from "./storable.ts";
import { textOfCalendar } from "./text/calendar.ts";
import { unflowed } from "./text/flowed.ts";
import { isBlankText, linesMissingIn, saysMoreThan } from "./text/words.ts";

/** The text of a mail as it is displayed. */
export type MailBodies = {
  text: string | null;
  html: string | null;
  extracted: string;
  writers: string[];
  notes: string[];
};

/** A part of a mail's text, in one form or in several (multipart/alternative). */
type BodyPiece = { plain: string[]; html: string[]; calendars: string[] };

const maxHtmlChars = 1024 * 1024;

/** `writer`: the name of the writer of the mail that this one answers, if it is known. */
export function bodiesOf(parts: readonly Part[], writer?: string): MailBodies {
  const notes: string[] = [];
  const pieces = piecesOf(parts, notes);
  const texts = pieces.flatMap((piece) => textsOfPiece(piece, notes));
  if (texts.some((text) => /^-----BEGIN PGP MESSAGE-----\s*$/m.test(text))) notes.push(encryptedNote("OpenPGP"));
  const hasHtml = pieces.some(({ html }) => html.length > 0);
  return {
    text: texts.length === 0 ? null : texts.join("\n"),
    html: hasHtml ? pieces.flatMap(htmlOfPiece).join("\n") : null,
    // Quotations are removed from each text separately, because a quotation that reaches the end of one text does not continue in the
    // next.
    extracted: texts
      .map((text) => ownWords(text, writer))
      .filter((text) => text !== "")
      .join("\n\n"),
    writers: texts.flatMap(writersIn).slice(0, mostWriters),
    notes,
  };
}

/** Groups the parts: alternatives of one multipart/alternative are one piece, every other part is its own piece. */
function piecesOf(parts: readonly Part[], notes: string[]): BodyPiece[] {
  const pieces = new Map<Part, BodyPiece>();
  for (const part of parts) {
    const whole = part.around.findLast(({ contentType }) => contentType.value === "multipart/alternative") ?? part;
    const piece = pieces.get(whole) ?? { plain: [], html: [], calendars: [] };
    pieces.set(whole, piece);
    const decoded = textOfPart(part);
    notes.push(...decoded.notes);
    const text = storable(decoded.text);
    const { value, parameters } = part.contentType;
    if (value === "text/html") piece.html.push(text);
    else if (value === "text/calendar") piece.calendars.push(text);
    else if (parameters.get("format")?.toLowerCase() !== "flowed") piece.plain.push(text);
    else piece.plain.push(unflowed(text, { delSp: parameters.get("delsp")?.toLowerCase() === "yes" }));
  }
  return [...pieces.values()];
}

/**
 * Returns the plain text, or the text of the HTML if there is no plain one. Returns both if most words of the HTML are not in the plain
 * text: then the plain text says something else, or only that the mail has HTML. Otherwise appends the lines that only the HTML has to
 * the plain text.
 */
function textsOfPiece({ plain, html, calendars }: BodyPiece, notes: string[]): string[] {
  const written = plain.join("\n");
  const page = html.length === 0 ? null : readMailHtml(cutText(html.join("\n"), maxHtmlChars));
  if (page) notes.push(...notesOnHidden(page));
  const texts = isBlankText(written) ? [] : [written];
  if (page && !isBlankText(page.text)) {
    const isOther = texts.length > 0 && saysMoreThan(page.text, written);
    if (isOther) notes.push("The plain text and the HTML of the mail differ: both are shown, the plain text first.");
    if (isOther || texts.length === 0) texts.push(page.text);
    else {
      const missing = linesMissingIn(written, page.text);
      if (missing.length > 0) {
        notes.push(
          "The HTML of the mail has more text than the plain text: the additional text is shown below the plain text.",
        );
        texts.push(missing.join("\n"));
      }
    }
  }
  const events = calendars.map(textOfCalendar).filter((event) => event !== "" && saysMoreThan(event, texts.join("\n")));
  if (texts.length + events.length > 0) return [...texts, ...events];
  // A body without words still counts as a body.
  return plain.length + html.length > 0 ? [written.trim() === "" && page ? page.text : written] : [];
}

const htmlOfPiece = ({ plain, html }: BodyPiece): string[] =>
  html.length > 0 ? html : plain.map((text) => `<div>${escapedText(text).replace(/\r?\n/g, "<br>\n")}</div>`);

const escapedText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const shownOfHidden = 300;

/**
 * Returns notes on words that the mail contains but its reader does not see, unless the visible text contains the same words, as with a
 * second layout for small screens.
 */
function notesOnHidden({ hidden, veiled, text }: MailText): string[] {
  if (hidden.length + veiled.length === 0) return [];
  const open = letters(text);
  const [unseen, doubtful] = [
    hidden.filter((run) => letters(run) !== "" && !open.includes(letters(run))),
    veiled.filter((run) => letters(run) !== "" && open.indexOf(letters(run)) === open.lastIndexOf(letters(run))),
  ];
  return [
    ...(unseen.length === 0
      ? []
      : [`The mail has text that a reader does not see. It is omitted here: ${beginningsOf(unseen)}.`]),
    ...(doubtful.length === 0
      ? []
      : [`The mail has text that a reader may not see, because a style sheet hides it: ${beginningsOf(doubtful)}.`]),
  ];
}

function beginningsOf(runs: readonly string[]): string {
  const words = storableLine(runs.map((run) => run.replace(/\s+/g, " ")).join(" … "), 2 * shownOfHidden);
  return `“${cutText(words, shownOfHidden)}”${words.length > shownOfHidden ? " and more" : ""}`;
}

const letters = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
