import type { DraftContent } from "#streams/draft/content.ts";

/** Both forms of a mail as sent, including the signature. Pages that show a draft show these. `html` is null for a plain text draft. */
export type ComposedBodies = { text: string; html: string | null };

type Written = Pick<DraftContent, "body_text" | "body_html" | "signature_text" | "signature_html">;

/** The document around every HTML body that is sent. */
const shell = { open: '<!doctype html><html><head><meta charset="utf-8"></head><body>', close: "</body></html>" };

/**
 * Joins the content's own parts: below the usual `-- ` line in text, one after the other in HTML. Neither form is derived from the other.
 */
export function composeBodies({ body_text: text, body_html, signature_text, signature_html }: Written): ComposedBodies {
  const html = body_html === null ? null : `${shell.open}${body_html}${signature_html ?? ""}${shell.close}`;
  return { text: signature_text ? `${text}\n\n-- \n${signature_text}` : text, html };
}
