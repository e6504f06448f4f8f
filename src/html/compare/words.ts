/** `shown` as it is written, `key` as it is compared. */
export type Word = { shown: string; key: string };

/**
 * The words of a text, and what changes an amount: currency and percent signs, signs and separators of numbers. Pictographs count. Other
 * punctuation does not.
 */
export function wordsOf(text: string): Word[] {
  const plain = text
    // Normalising sorts the marks on one letter, in time that grows with the square of their number.
    .replace(/(\p{M}{30})(?=\p{M})/gu, "$1\u034f")
    .normalize("NFKC")
    .replace(/\p{Cf}|[\ufe00-\ufe0f]/gu, "")
    .replaceAll("−", "-");
  return (plain.match(word) ?? []).map((shown) => ({ shown, key: folded(shown) }));
}

const word =
  /[\p{L}\p{M}\p{N}]+(?:(?<=\p{N})[.,'’](?=\p{N})[\p{L}\p{M}\p{N}]+)*|\p{Sc}|[%‰]|(?<![\p{L}\p{N}\p{Sc}])[-+](?=[\p{N}\p{Sc}])|\p{Extended_Pictographic}/gu;

/** Case goes both ways, so that ß and ss are the same. */
const folded = (text: string): string => text.toUpperCase().toLowerCase().replaceAll("’", "'");
