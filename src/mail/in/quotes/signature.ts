const maxLines = 8;
const maxLength = 80;
const maxNameWords = 5;

const contact =
  /^\s*(?:\p{L}{1,6}[.:]{1,2}\s*)?(?:<?(?:mailto:|https?:\/\/|www\.)?[^\s@/]+@[^\s@]+\.[^\s@]+>?|<?(?:https?:\/\/|www\.)\S+>?|[+(0][\d\s()/.+-]{6,24})\s*$/iu;

/** The line that parts a signature from the rest. */
const isSeparator = (line: string): boolean => line === "-- " || line === "--";

/**
 * Finds the beginning of a signature that goes to the end: its separator. Only one that is short and has nothing but names and ways to reach somebody, of
 * which there is at least one; undefined otherwise. `end`: where the lines end that it may take.
 */
export function startOfSignature(lines: readonly string[], end: number): number | undefined {
  const start = lines.findLastIndex((line, index) => index < end && isSeparator(line));
  if (start < 0) return undefined;
  const below = lines.slice(start + 1, end).filter((line) => line.trim() !== "");
  if (
    below.length > maxLines ||
    !below.every((line) => line.length <= maxLength && (isContact(line) || isName(line)))
  ) {
    return undefined;
  }
  return below.some((line) => isContact(line) && !link.test(line)) ? start : undefined;
}

/** A link alone may be anything that the writer points at. */
const link = /^[^@]*(?:https?:\/\/|www\.)/i;

/** An address, a link or a number of a telephone, perhaps behind a short label. */
const isContact = (line: string): boolean => contact.test(line);

/**
 * Words that begin with capital letters, as names and streets do; in a script without capitals nothing is known. More than two words all in capitals
 * may be a sentence, and a long number behind words that of an order.
 */
const isName = (line: string): boolean => {
  const words = line
    .trim()
    .split(/[\s,|·/&-]+/u)
    .filter((word) => word !== "");
  const isLoud = words.filter((word) => /^\p{Lu}{2,}/u.test(word)).length > 2;
  return (
    words.length <= maxNameWords &&
    !isLoud &&
    words.every((word, n) => /^\p{Lu}[\p{L}\p{M}.'’]*$/u.test(word) || (n === 0 ? /^\d{1,5}$/ : /^\d{1,3}$/).test(word))
  );
};
