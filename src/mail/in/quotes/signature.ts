const maxLines = 8;
const maxLength = 80;
const maxNameWords = 5;

const contact =
  /^\s*(?:\p{L}{1,6}[.:]{1,2}\s*)?(?:<?(?:mailto:|https?:\/\/|www\.)?[^\s@/]+@[^\s@]+\.[^\s@]+>?|<?(?:https?:\/\/|www\.)\S+>?|[+(0][\d\s()/.+-]{6,24})\s*$/iu;

/** True for the line that separates a signature from the text. */
const isSeparator = (line: string): boolean => line === "-- " || line === "--";

/**
 * Returns the line of the separator of a signature that reaches `end`. Undefined unless the signature is short and has only names and
 * contact details, at least one of the latter. `end`: the line before which it has to end.
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

/** Matches a bare link, which may be anything the writer points to. */
const link = /^[^@]*(?:https?:\/\/|www\.)/i;

/** True for an address, a link or a telephone number, perhaps after a short label. */
const isContact = (line: string): boolean => contact.test(line);

/**
 * True for words with capital initials, as in names and streets; scripts without capitals cannot be judged. More than two words in
 * capitals may be a sentence, and a long number after words an order number.
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
