import { mostQuoted, type Phrase } from "#src/commands/drafts/life/phrases.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";

/** Who reads: in which time zone. */
export type Reader = { zone: string };

/** A sentence about what was recorded, times in the reader's own zone. What others wrote stays apart from our words, in its own direction. */
export const inMarkup = (reader: Reader, phrases: readonly Phrase[]): Markup =>
  html`${phrases.map((phrase) => pieceOf(reader, phrase))}`;

function pieceOf(reader: Reader, phrase: Phrase): Markup | string {
  if (typeof phrase === "string") return phrase;
  if ("at" in phrase) return html`${when(reader, phrase.at)}`;
  if ("said" in phrase) return html`“<bdi lang="">${shortLine(phrase.said, mostQuoted)}</bdi>”`;
  return html`<bdi lang="">${visibleLine(phrase.exact)}</bdi>`;
}
