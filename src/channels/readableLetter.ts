import { pageHtml } from "#src/html/letter/pageHtml.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { letterOf } from "./letter.ts";

/** A letter as the console shows it. `html`: its HTML for a frame of our pages, and its words; null if it has none. */
export type ReadableLetter = { text: string; html: { page: string; asText: string } | null };

/** `pictures`: `data:` addresses by sha256. */
export type LetterToRead = {
  content: Pick<DraftContent, "body_html" | "body_text" | "signature_html" | "signature_text">;
  pictures?: ReadonlyMap<string, string>;
};

export function readableLetter({ content, pictures = new Map() }: LetterToRead): ReadableLetter {
  const { text, html } = letterOf(content, { textDerived: true });
  return { text, html: html && { page: pageHtml(html.pieces, { pictures }), asText: html.asText } };
}
