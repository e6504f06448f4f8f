const maxLines = 8;
const maxLength = 80;
const maxNameWords = 5;

const contact =
  /^\s*(?:\p{L}{1,6}[.:]{1,2}\s*)?(?:<?(?:mailto:|https?:\/\/|www\.)?[^\s@/]+@[^\s@]+\.[^\s@]+>?|<?(?:https?:\/\/|www\.)\S+>?|[+(0][\d\s()/.+-]{6,24})\s*$/iu;

/** The line that parts a signature from the rest. */
const isSeparator = (line: string): boolean => line === "-- " || line === "--";

/**
 * Where a signature begins that goes to the end: at its separator. Only one that is short and has nothing but names and ways to reach somebody, of
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
  return below.some(isContact) ? start : undefined;
}

/** An address, a link or a number of a telephone, perhaps behind a short label. */
const isContact = (line: string): boolean => contact.test(line);

/** Words that begin with capital letters, as names and streets do; in a script without capitals nothing is known. */
const isName = (line: string): boolean => {
  const words = line
    .trim()
    .split(/[\s,|·/&-]+/u)
    .filter((word) => word !== "");
  return (
    words.length <= maxNameWords &&
    words.every((word) => /^\p{Lu}[\p{L}\p{M}.'’]*$/u.test(word) || /^\d{1,5}$/.test(word))
  );
};
