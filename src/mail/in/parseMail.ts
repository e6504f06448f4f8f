import { cutToBytes } from "#streams/cutText.ts";
import { bodiesOf, type MailBodies } from "./bodies.ts";
import { cappedForParser } from "./capped.ts";
import { isDeeperThan } from "./htmlDepth.ts";
import { runsInMail } from "./links/mailRuns.ts";
import { contentsOf } from "./mime/contents.ts";
import { ownBuffer } from "./mime/decodedPart.ts";
import {
  maxNoteLength,
  maxNotes,
  type ParsedAttachment,
  type ParsedMail,
  type ParseLimits,
  unreadableMail,
} from "./parsedMail.ts";
import { ownWords } from "./quotes/parts.ts";
import { storableLine } from "./storable.ts";

/** Deepest HTML nesting: deeper HTML costs every later reader (sanitisers, browsers) too much. */
const maxHtmlDepth = 512;

/**
 * Parses a mail. A mail that the parser refuses is returned as unreadable; the caller (readerPool.ts) bounds time and memory. `writer`: the
 * name of the writer of the mail that this one answers, if it is known.
 */
export async function parseMail(raw: Buffer, limits: ParseLimits, writer?: string): Promise<ParsedMail> {
  try {
    const { bytes, cut } = cappedForParser(raw);
    const { texts, files, notes } = contentsOf(Buffer.from(bytes.buffer), limits);
    const bodies = bodiesOf(texts, writer);
    const { attachments, said, ...shown } = fitting(bodies, { ...limits, writer });
    const all = [...files, ...attachments];
    const cutNote = cut === null ? [] : [`The mail is too long to be read completely: ${cut}.`];
    return {
      ...runsInMail(shown, { raw, attachments: all, isCut: cut !== null }),
      writers: bodies.writers,
      attachments: all,
      unreadable: null,
      cut,
      notes: shownNotes([...notes, ...bodies.notes, ...said, ...cutNote]),
    };
  } catch (error) {
    return unreadableMail(`the parser rejected it: ${storableLine(String((error as Error).message), 300)}`);
  }
}

/** Returns each note once, within the bounds of a message. */
const shownNotes = (notes: readonly string[]): string[] =>
  [...new Set(notes)].slice(0, maxNotes).map((note) => storableLine(note, maxNoteLength));

type ReadingOptions = ParseLimits & { writer?: string | undefined };
type Fitting = Pick<ParsedMail, "bodyText" | "bodyHtml" | "extractedText" | "attachments"> & { said: string[] };

/** Returns the bodies within the limits. Bodies that do not fit are attached whole. */
function fitting(
  { text, html, extracted }: MailBodies,
  { maxHtmlBytes, maxTextBytes, writer }: ReadingOptions,
): Fitting {
  const isTangled = html !== null && isDeeperThan(html, maxHtmlDepth);
  const htmlFits = html === null || (!isTangled && Buffer.byteLength(html) <= maxHtmlBytes);
  const textFits = text === null || Buffer.byteLength(text) <= maxTextBytes;
  const bodyText = textFits ? text : cutToBytes(text, maxTextBytes);
  return {
    bodyText,
    bodyHtml: htmlFits ? html : null,
    extractedText: textFits ? extracted : ownWords(bodyText ?? "", writer),
    attachments: [
      ...(htmlFits ? [] : [bodyAttachment("body.html", "text/html", html)]),
      ...(textFits ? [] : [bodyAttachment("body.txt", "text/plain", text)]),
    ],
    said: [
      ...(htmlFits
        ? []
        : ["The mail's HTML is too large or too deeply nested to be shown: it is attached as body.html."]),
      ...(textFits
        ? []
        : ["The mail's text is too long to be shown completely: the whole text is attached as body.txt."]),
    ],
  };
}

const bodyAttachment = (filename: string, type: string, body: string): ParsedAttachment => ({
  filename,
  contentType: `${type}; charset=utf-8`,
  contentId: null,
  inline: false,
  bytes: Buffer.from(ownBuffer(new TextEncoder().encode(body))),
});
