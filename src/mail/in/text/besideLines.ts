/** Lines of a mail's form above and below a text that it contains. */
export type BesideLines = { above: string[]; below: string[] };

/** True for a line above a footer that programs add: the usual `-- `, or a rule. */
export const isRule = (line: string): boolean => /^(?:--|[-_*=]{4,})$/.test(squeezed(line));

/** The characters of a line that are seen. Mail stores write ">From" for "From". */
export const squeezed = (line: string): string =>
  line
    .normalize("NFC")
    .replace(/[\s\p{Cf}\u2800]+/gu, "")
    .replace(/^>+(?=From)/, "");

/** Lines at each end of another mail that are compared, at most, their length in characters, and rules below which a footer may stand. */
const maxLines = 40;
const maxLength = 16 * 1024;
const maxRules = 3;

/**
 * Compares lines beside a text with another mail: true for `above` if the mail begins with these lines, true for `below` if it ends with
 * them, or has them above a rule; in each case only if the mail has more lines than these. Then a program added them that both mails came
 * through.
 */
export function areAlsoIn(text: string, { above, below }: BesideLines): { above: boolean; below: boolean } {
  const first = shownLines(text.slice(0, maxLength)).slice(0, maxLines + 1);
  const last = shownLines(text.slice(-maxLength));
  const rules = last.flatMap((line, at) => (isRule(line) ? [at] : [])).slice(-maxRules);
  const [begun, ended] = [above, below].map((wanted) => wanted.map(squeezed).join(""));
  const endsAt = (end: number): boolean =>
    last.slice(0, end).some((_, start) => start >= Math.max(1, end - maxLines) && joined(last, start, end) === ended);
  return {
    above: above.length === 0 || first.some((_, end) => end > 0 && joined(first, 0, end) === begun),
    below: below.length === 0 || [...rules, last.length].some(endsAt),
  };
}

const shownLines = (text: string): string[] =>
  text
    .split("\n")
    .map(squeezed)
    .filter((line) => line !== "");

const joined = (lines: readonly string[], start: number, end: number): string => lines.slice(start, end).join("");
