import { sanitise } from "#src/html/sanitise.ts";
import { textOfSanitised, wordsIn, wordsOfSanitised } from "#src/html/textOfHtml.ts";
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
  /** The HTML: sanitised for a frame, and as text. `unreadable`: too large or too deep to be shown. Null where the draft has none. */
  html: { sanitised: string; asText: string } | "unreadable" | null;
  /** HTML and plain text say different words. Mail programs show one of them, so that an approver has to see both. */
  versionsDiffer: boolean;
};

export function letterOf(content: DraftContent): Letter {
  const bodies = composeBodies(content);
  const clean = bodies.html === null ? null : sanitise(bodies.html);
  const head = letterHead(content);
  if (clean === null) return { head, text: bodies.text, html: null, versionsDiffer: false };
  if ("refused" in clean) return { head, text: bodies.text, html: "unreadable", versionsDiffer: false };
  const html = { sanitised: clean.html, asText: textOfSanitised(clean.html) };
  const versionsDiffer = content.body_text !== null && wordsOfSanitised(clean.html) !== wordsIn(bodies.text);
  return { head, text: bodies.text, html, versionsDiffer };
}

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
