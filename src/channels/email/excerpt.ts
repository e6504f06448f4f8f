import { cutText } from "#streams/cutText.ts";

/** The beginning of a long text, and the number of characters left out. */
export type CutText = { shown: string; left: number };

/** Cuts a text to at most `max` characters and `maxLines` lines. */
export function excerpt(text: string, max: number, maxLines: number): CutText {
  const whole = text.trim();
  const lines = whole.split("\n").slice(0, maxLines).join("\n");
  const shown = cutText(lines, max);
  return { shown, left: whole.length - shown.length };
}

/** The note shown where a text was cut; undefined if it was not. */
export function cutNote({ left }: CutText): string | undefined {
  if (left === 0) return undefined;
  return `… ${left.toLocaleString("en")} more ${left === 1 ? "character" : "characters"}; see the review page`;
}

/**
 * Changes web addresses so that mail programs make no links of them: a stranger's link must not be one tap away in our mail. The inserted
 * separator has no width, so the text looks the same.
 */
export function unlinked(text: string): string {
  return text
    .replace(/(?<=[a-z][a-z0-9+.-]{0,20}:)(?=\/\/)/gi, apart)
    .replace(/(?<=[\p{L}\p{N}-])\.(?=\p{L}{2})/gu, `${apart}.`)
    .replace(/(?<=\S)@(?=\S)/g, `${apart}@`);
}

/** Applies `unlinked` to each text in a value. */
export function allUnlinked<T>(value: T): T {
  if (typeof value === "string") return unlinked(value) as T;
  if (Array.isArray(value)) return value.map(allUnlinked) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, allUnlinked(inner)])) as T;
}

const apart = "\u200c";
