import { isDeepStrictEqual } from "node:util";
import { compareReadings, type Difference } from "#src/html/compare/compareReadings.ts";
import { plainText } from "#src/html/letter/plainText.ts";
import { type Piece, readLetter } from "#src/html/letter/readLetter.ts";
import { visible } from "#src/html/visible.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** A line of a letter's head: "To", and the values in it. */
export type HeadField = { label: string; values: string[] };

/** What would be sent, signature included, in the forms an approver can be shown. */
export type Letter = {
  /** The plain text as it leaves. */
  text: string;
  /** The HTML, as it is read, and its text, in which everything can be seen. Null if the draft has none. */
  html: { pieces: readonly Piece[]; asText: string; signatureAsText: string } | null;
  /**
   * In what HTML and plain text say different things, signatures left aside; null if they do not. Mail programs show one of them, so that
   * an approver has to see both.
   */
  difference: Difference | null;
};

/** What a letter is made of. */
type Made = Pick<DraftContent, "body_html" | "body_text" | "signature_html" | "signature_text"> & {
  textDerived: boolean;
};

/** How many large letters are kept. Each takes a few megabytes at most. */
const mostKept = 8;

/** Making a letter of less, and looking for its links, takes no time worth saving. Characters. */
const large = 10_000;

/** The large letters made last: anyone who has a link can open its page as often, and as often at once, as they like. */
let kept: { of: Made; letter: Letter }[] = [];

/** `textDerived`: the plain text was made of the HTML, so there is nothing to compare. The same object may be given again. */
export function letterOf(content: Omit<Made, "textDerived">, { textDerived }: { textDerived: boolean }): Letter {
  const { body_html, body_text, signature_html, signature_text } = content;
  const of = { body_html, body_text, signature_html, signature_text, textDerived };
  if ([body_html, body_text, signature_html].join("").length < large) return newLetter(of);
  const known = kept.find((one) => isDeepStrictEqual(one.of, of)) ?? { of, letter: newLetter(of) };
  kept = [known, ...kept.filter((one) => one !== known)].slice(0, mostKept);
  return known.letter;
}

function newLetter({ textDerived, ...content }: Made): Letter {
  const bodies = composeBodies(content);
  const difference = textDerived ? null : differenceOf(content);
  const written = { text: bodies.text, difference };
  if (content.body_html === null) return { ...written, html: null };
  const signature = readLetter(content.signature_html ?? "");
  const pieces = [...readLetter(content.body_html), ...signature];
  return { ...written, html: { pieces, asText: shownText(pieces), signatureAsText: shownText(signature) } };
}

/** The text that readers of HTML read, safe to look at. */
const shownText = (pieces: readonly Piece[]): string => plainText(pieces, { show: visible });

const differenceOf = ({ body_html, body_text }: Pick<DraftContent, "body_html" | "body_text">): Difference | null =>
  body_html === null ? null : compareReadings(body_html, body_text);
