import { cutText } from "#streams/cutText.ts";

const shownRecords = 3;
const shownLength = 200;

/** Lists what was found, shortened: the first few values in quotation marks. */
export function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, shownRecords).map((text) => JSON.stringify(cutText(text, shownLength)));
  const more = texts.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
