import type { TextMarks } from "../letter/markedText.ts";

/** `shown`: original spelling; `key`: form for comparison. Words with different marks have different keys. */
export type ComparedWord = { shown: string; key: string; marks: TextMarks };

/**
 * Splits a text with these marks into words, and signs that change an amount: currency and percent signs, signs and separators of
 * numbers. Pictographs and quotation marks count. Other punctuation is ignored.
 */
export function wordsOf(text: string, marks: TextMarks = ""): ComparedWord[] {
  const plain = text
    // Normalising sorts the combining marks on one letter, in time that grows with the square of their number.
    .replace(/(\p{M}{30})(?=\p{M})/gu, "$1\u034f")
    .normalize("NFKC")
    .replace(/\p{Cf}|[\ufe00-\ufe0f]/gu, "")
    .replaceAll("−", "-")
    .replace(/[“”„‟«»]/g, '"');
  return (plain.match(word) ?? []).map((shown) => ({ shown, key: `${marks}${marks && " "}${folded(shown)}`, marks }));
}

const word =
  /[\p{L}\p{M}\p{N}]+(?:(?<=\p{N})[.,'’](?=\p{N})[\p{L}\p{M}\p{N}]+)*|\p{Sc}|[%‰]|(?<![\p{L}\p{N}\p{Sc}])[-+](?=[\p{N}\p{Sc}])|\p{Extended_Pictographic}|"/gu;

/** Folds case in both directions, so that ß and ss are equal. */
const folded = (text: string): string => text.toUpperCase().toLowerCase().replaceAll("’", "'");
