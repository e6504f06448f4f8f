import { htmlOfWritten } from "#src/html/htmlOfWritten.ts";
import { invalidRequest } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";

type EditedBodies = { bodyText?: string | null; bodyHtml?: string | null };

/**
 * Completes a person's edit so that text and HTML have the same content. A form sends both bodies back even if the person changed only one
 * or none; different line endings do not count as a change. If the text was changed, it replaces the HTML, unless the HTML was changed too;
 * if only the HTML was changed, it replaces the text. A returned body is undefined if it stays as it was. Throws Rejected invalid_request.
 */
export function alignBodies(before: Pick<DraftContent, "body_text" | "body_html">, given: EditedBodies): EditedBodies {
  const text = changed(before.body_text, given.bodyText);
  const html = changed(before.body_html, given.bodyHtml);
  if (text === undefined && html === undefined) return { bodyText: undefined, bodyHtml: undefined };
  if (text !== undefined && text.trim() === "" && !html?.trim()) {
    throw invalidRequest("body_text", "the text is empty: write an answer, or reject the draft");
  }
  if (html !== undefined && html.trim() !== "") return { bodyText: text ?? null, bodyHtml: html };
  const written = text ?? lines(before.body_text);
  const hasHtml = before.body_html !== null && html === undefined;
  return { bodyText: written, bodyHtml: hasHtml ? htmlOfWritten(written) : null };
}

const lines = (text: string): string => text.replace(/\r\n?/g, "\n");

/** Returns the new text of a body; undefined if the body was not changed. */
function changed(before: string | null, given: string | null | undefined): string | undefined {
  if (given === undefined || lines(given ?? "") === lines(before ?? "")) return undefined;
  return lines(given ?? "");
}
