import { isDeepStrictEqual } from "node:util";
import { compareReadings, type Difference } from "#src/html/compare/compareReadings.ts";
import { plainText } from "#src/html/letter/plainText.ts";
import { type LetterPiece, readLetter } from "#src/html/letter/readLetter.ts";
import { visible } from "#src/html/visible.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** The mail that would be sent, signature included, in the forms that an approver can be shown. */
export type DraftLetter = {
  /** The plain text as sent. */
  text: string;
  /** The HTML in the form it is read, and its text with invisible characters made visible. Null if the draft has none. */
  html: { pieces: readonly LetterPiece[]; asText: string; signatureAsText: string } | null;
  /**
   * Differences between HTML and plain text, ignoring signatures; null if there are none. Mail programs show only one of them, so an
   * approver has to see both.
   */
  difference: Difference | null;
};

/** The inputs of a letter. */
type LetterInput = Pick<DraftContent, "body_html" | "body_text" | "signature_html" | "signature_text"> & {
  textDerived: boolean;
};

/** Maximum number of large letters kept in the cache; each takes at most a few megabytes. */
const mostKept = 8;

/** Characters: making a smaller letter, and finding its links, takes too little time to be worth caching. */
const large = 10_000;

/** Cache of the newest large letters, because anyone with a link can open its page often, and many times at once. */
let kept: { of: LetterInput; letter: DraftLetter }[] = [];

/** `textDerived`: the plain text was derived from the HTML, so there is nothing to compare. May return the same object again. */
export function letterOf(
  content: Omit<LetterInput, "textDerived">,
  { textDerived }: { textDerived: boolean },
): DraftLetter {
  const { body_html, body_text, signature_html, signature_text } = content;
  const of = { body_html, body_text, signature_html, signature_text, textDerived };
  if ([body_html, body_text, signature_html].join("").length < large) return newLetter(of);
  const known = kept.find((one) => isDeepStrictEqual(one.of, of)) ?? { of, letter: newLetter(of) };
  kept = [known, ...kept.filter((one) => one !== known)].slice(0, mostKept);
  return known.letter;
}

function newLetter({ textDerived, ...content }: LetterInput): DraftLetter {
  const bodies = composeBodies(content);
  const difference = textDerived ? null : differenceOf(content);
  const written = { text: bodies.text, difference };
  if (content.body_html === null) return { ...written, html: null };
  const signature = readLetter(content.signature_html ?? "");
  const pieces = [...readLetter(content.body_html), ...signature];
  return { ...written, html: { pieces, asText: shownText(pieces), signatureAsText: shownText(signature) } };
}

/** The text that readers of the HTML see, safe to display. */
const shownText = (pieces: readonly LetterPiece[]): string => plainText(pieces, { show: visible });

const differenceOf = ({ body_html, body_text }: Pick<DraftContent, "body_html" | "body_text">): Difference | null =>
  body_html === null ? null : compareReadings(body_html, body_text);
