import { compareReadings, type Difference } from "#src/html/compare/compareReadings.ts";
import { sanitise } from "#src/html/sanitise.ts";
import { textOfSanitised } from "#src/html/textOfHtml.ts";
import { visibleLine } from "#src/html/visible.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** A line of a letter's head: "To", and the values in it. */
export type HeadField = { label: string; values: string[] };

/** What would be sent, signature included, in the forms an approver can be shown. */
export type Letter = {
  head: HeadField[];
  /** The plain text as it leaves. */
  text: string;
  /** The HTML: sanitised for a frame, and as text. `unreadable`: too large or too deep to be shown. Null if the draft has none. */
  html: { sanitised: string; asText: string } | "unreadable" | null;
  /**
   * In what HTML and plain text say different things, signatures left aside; null if they do not. Mail programs show one of them, so that
   * an approver has to see both.
   */
  difference: Difference | null;
};

/** `textDerived`: the plain text was made of the HTML, so there is nothing to compare. */
export function letterOf(content: DraftContent, { textDerived }: { textDerived: boolean }): Letter {
  const bodies = composeBodies(content);
  const head = letterHead(content);
  const difference = textDerived ? null : differenceOf(content);
  const written = { head, text: bodies.text, difference };
  if (bodies.html === null) return { ...written, html: null };
  const clean = sanitise(bodies.html);
  if ("refused" in clean) return { ...written, html: "unreadable" };
  return { ...written, html: { sanitised: clean.html, asText: textOfSanitised(clean.html) } };
}

const differenceOf = ({ body_html, body_text }: DraftContent): Difference | null =>
  body_html === null || body_text === null ? null : compareReadings(body_html, body_text);

/** Who would send it, who would get it, and what it would be called. Fields without a value are left out. */
function letterHead(content: DraftContent): HeadField[] {
  const name = visibleLine(content.from.name);
  return [
    { label: "From", values: [name ? `${name} <${content.from.address}>` : content.from.address] },
    { label: "To", values: content.to },
    { label: "Cc", values: content.cc },
    { label: "Bcc (hidden)", values: content.bcc },
    { label: "Replies go to", values: content.reply_to ? [content.reply_to] : [] },
    { label: "Subject", values: [content.subject || "(no subject)"] },
    { label: "Attached", values: content.attachments.map((file) => `${file.filename} (${file.content_type})`) },
  ]
    .filter((field) => field.values.length > 0)
    .map((field) => ({ label: field.label, values: field.values.map(visibleLine) }));
}
