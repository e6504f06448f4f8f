import { compile } from "html-to-text";
import type { DraftContent } from "#streams/draft/content.ts";

/** The two readings of one letter, signature included, as they leave. Whoever shows a draft shows these. `html` is null for a plain text draft. */
export type Bodies = { text: string; html: string | null };

type Written = Pick<DraftContent, "body_text" | "body_html" | "signature_text" | "signature_html">;

/**
 * Adds the signature to each body: below the usual `-- ` line in text, before the end of the document in HTML. Where only one form of the
 * signature or of the body is given, the other is made from it: every recipient reads the signature, and a program without HTML the letter.
 */
export function composeBodies(content: Written): Bodies {
  const html = content.body_html === null ? null : signedHtml(content.body_html, htmlSignature(content));
  const text = content.body_text === null ? textOf(content.body_html ?? "") : content.body_text;
  return { text: signedText(text, textSignature(content)), html };
}

const textSignature = (content: Written): string =>
  content.signature_text ?? (content.signature_html === null ? "" : textOf(content.signature_html));

const htmlSignature = (content: Written): string =>
  content.signature_html ??
  (content.signature_text ? escaped(content.signature_text).replace(/\r\n?|\n/g, "<br>\n") : "");

const signedText = (body: string, signature: string): string => (signature ? `${body}\n\n-- \n${signature}` : body);

function signedHtml(body: string, signature: string): string {
  if (!signature) return body;
  const end = body.search(/<\/body\s*>(?![\s\S]*<\/body)/i);
  const [before, after] = end < 0 ? [body, ""] : [body.slice(0, end), body.slice(end)];
  return `${before}\n<br>\n${signature}${after && `\n${after}`}`;
}

const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character] ?? "");

// The limits keep hostile nesting from overflowing the stack; what is deeper is left out with an ellipsis.
const textOf = compile({
  wordwrap: false,
  limits: { maxInputLength: 512 * 1024, maxDepth: 50, ellipsis: "…" },
  selectors: [
    { selector: "img", format: "skip" },
    { selector: "a", options: { hideLinkHrefIfSameAsText: true } },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});
