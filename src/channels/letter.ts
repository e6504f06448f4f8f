import { isDeepStrictEqual } from "node:util";
import { compareReadings, type Difference } from "#src/html/compare/compareReadings.ts";
import { sanitise } from "#src/html/sanitise.ts";
import { textOfSanitised } from "#src/html/textOfHtml.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** A line of a letter's head: "To", and the values in it. */
export type HeadField = { label: string; values: string[] };

/** What would be sent, signature included, in the forms an approver can be shown. */
export type Letter = {
  /** The plain text as it leaves. */
  text: string;
  /** The HTML: sanitised for a frame, and as text. `unreadable`: too large or too deep to be shown. Null if the draft has none. */
  html: { sanitised: string; asText: string; signatureAsText: string } | "unreadable" | null;
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
export function letterOf(content: DraftContent, { textDerived }: { textDerived: boolean }): Letter {
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
  if (bodies.html === null) return { ...written, html: null };
  const clean = sanitise(bodies.html);
  if ("refused" in clean) return { ...written, html: "unreadable" };
  const signature = sanitise(content.signature_html ?? "");
  const signatureAsText = "refused" in signature ? "" : textOfSanitised(signature.html);
  return { ...written, html: { sanitised: clean.html, asText: textOfSanitised(clean.html), signatureAsText } };
}

const differenceOf = ({ body_html, body_text }: Pick<DraftContent, "body_html" | "body_text">): Difference | null =>
  body_html === null || body_text === null ? null : compareReadings(body_html, body_text);
