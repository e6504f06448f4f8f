import type { DraftContent } from "#streams/draft/content.ts";

/** The two readings of one letter, signature included, as they leave. Who shows a draft shows these. `html` is null for a plain text draft. */
export type Bodies = { text: string; html: string | null };

type Written = Pick<DraftContent, "body_text" | "body_html" | "signature_text" | "signature_html">;

/** The shell around every HTML body that is sent. */
const shell = { open: '<!doctype html><html><head><meta charset="utf-8"></head><body>', close: "</body></html>" };

/** Puts the content's own parts together: below the usual `-- ` line in text, one after the other in HTML. Nothing is made here of something else. */
export function composeBodies({ body_text: text, body_html, signature_text, signature_html }: Written): Bodies {
  const html = body_html === null ? null : `${shell.open}${body_html}${signature_html ?? ""}${shell.close}`;
  return { text: signature_text ? `${text}\n\n-- \n${signature_text}` : text, html };
}
