import { maxQuoted, type Phrase } from "#src/commands/drafts/life/phrases.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";

/** The reader's time zone; `exactly`: show times to the second. */
export type HistoryReader = { zone: string; exactly?: boolean };

/** A sentence about recorded facts, with times in the reader's zone. Texts by others are isolated, with their own direction. */
export const phraseMarkup = (reader: HistoryReader, phrases: readonly Phrase[]): Markup =>
  html`${phrases.map((phrase) => pieceOf(reader, phrase))}`;

function pieceOf(reader: HistoryReader, phrase: Phrase): Markup | string {
  if (typeof phrase === "string") return phrase;
  if ("at" in phrase) return html`${when(reader, phrase.at, { seconds: reader.exactly === true })}`;
  if ("said" in phrase) return html`“<bdi lang="">${shortLine(phrase.said, maxQuoted)}</bdi>”`;
  return html`<bdi lang="">${visibleLine(phrase.exact)}</bdi>`;
}
