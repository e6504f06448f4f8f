import { maxDepth } from "../reduce/names.ts";

/**
 * The marks of a run of text, in order: `~` struck through, `+` underlined, `^` raised, `_` lowered (several if nested). "" for unmarked
 * text.
 */
export type TextMarks = string;

/** Text that has the same marks throughout. */
export type MarkedRun = { text: string; marks: TextMarks };

export const markNames = { "~": "struck through", "+": "underlined", "^": "raised", _: "lowered" } as const;

/** The mark that an element gives its text. */
export const markOf: ReadonlyMap<string, keyof typeof markNames> = new Map([
  ["s", "~"],
  ["del", "~"],
  ["u", "+"],
  ["ins", "+"],
  ["sup", "^"],
  ["sub", "_"],
]);

/** Returns the marks within an element with such a mark. Text struck or underlined twice looks the same as once. */
export function withMark(marks: TextMarks, mark: keyof typeof markNames): TextMarks {
  if (mark === "^" || mark === "_") return marks + mark;
  if (marks.includes(mark)) return marks;
  return mark === "~" ? `~${marks}` : marks.replace(/^~?/, "$&+");
}

/**
 * Writes a line with its marks as signs: `~~struck~~`, `{+underlined+}`, `10^00`, `H_2`, and `^(…)`, `_(…)` around more than one plain
 * word. Text that would read as one of the first two gets a backslash before it.
 */
export function markedText(runs: readonly MarkedRun[]): string {
  const hasMarks = runs.some(({ marks }) => marks !== "");
  return written(
    runs.map((run) => ({ ...run, text: literal(run, hasMarks) })),
    0,
  );
}

/**
 * Escapes text so that nothing in it reads as a sign, not even together with signs next to its ends: blanks around it stay outside the
 * signs.
 */
function literal({ text, marks }: MarkedRun, hasMarks: boolean): string {
  const first = text.length - text.trimStart().length;
  const last = text.trimEnd().length;
  const isInBrackets = /[\^_]/.test(marks);
  const isSignAt = (at: number): boolean =>
    at === last
      ? hasMarks
      : text[at] === "~" || /^(?:\{\+|\+\})/.test(text.slice(at, at + 2)) || (isInBrackets && text[at] === ")");
  return text.replace(/\\+|~+|\{\+|\+\}|\)/g, (found, at: number) => {
    const end = at + found.length;
    if (found.startsWith("\\")) return isSignAt(end) ? found + found : found;
    if (found === ")") return isInBrackets ? "\\)" : found;
    if (!found.startsWith("~")) return `\\${found}`;
    if (hasMarks && (at === first || end === last)) return "\\~".repeat(found.length);
    return found.length === 2 ? "\\~~" : found;
  });
}

/** Writes runs that share their first `depth` marks. */
function written(runs: readonly MarkedRun[], depth: number): string {
  const groups: { mark: string | undefined; runs: MarkedRun[] }[] = [];
  for (const run of runs) {
    const mark = run.marks[depth];
    const last = groups.at(-1);
    if (last && last.mark === mark) last.runs.push(run);
    else groups.push({ mark, runs: [run] });
  }
  const parts: string[] = [];
  for (const [index, { mark, runs: within }] of groups.entries()) {
    if (mark === undefined) {
      parts.push(within.map(({ text }) => text).join(""));
      continue;
    }
    const content = written(within, depth + 1);
    const core = content.trim();
    const start = content.length - content.trimStart().length;
    const before = content.slice(0, start);
    const after = content.slice(start + core.length);
    const next = after || groups[index + 1]?.runs[0]?.text || "";
    const beside = { before: before || parts.findLast((part) => part !== "") || "", next };
    parts.push(before, core === "" ? "" : signed(mark, core, beside), after);
  }
  return parts.join("");
}

/** `before` and `next`: the text right before and right after it. */
function signed(mark: string, core: string, { before, next }: { before: string; next: string }): string {
  if (mark === "~") return `~~${core}~~`;
  if (mark === "+") return `{+${core}+}`;
  const isWord = plainWords.some((word) => word.whole.test(core) && !word.goesOn.test(next));
  const isFollowing = mark === "^" || /^[\p{L}\p{N})]$/u.test([...before.slice(-2)].at(-1) ?? "");
  return isWord && isFollowing ? mark + core : `${mark}(${core})`;
}

/** Superscripts and subscripts that are clear without brackets around them in plain text. */
const plainWords = [
  { whole: /^\p{N}+$/u, goesOn: /^\p{N}/u },
  { whole: /^[\p{L}\p{M}]+$/u, goesOn: /^[\p{L}\p{M}]/u },
];

const lineSigns = String.raw`\\\\|\\~|\\\{\+|\\\+\}|~{3,}|~~|\{\+|\+\}`;
const heightSigns = String.raw`\\\)|[\^_]\(|\)|\^(?:\p{N}+|[\p{L}\p{M}]+)|(?<=[\p{L}\p{N})])_(?:\p{N}+|[\p{L}\p{M}]+)`;
const allSigns = new RegExp(`${lineSigns}|${heightSigns}`, "gu");
const onlyLineSigns = new RegExp(lineSigns, "gu");

/**
 * Parses such signs in any text and returns its runs. Marks end with their paragraph; an unpaired sign is text. `heights`: false for text
 * in which `^` and `_` are literal.
 */
export const runsOf = (text: string, { heights = true } = {}): MarkedRun[] =>
  text.split(/(\n[ \t]*\n)/).flatMap((paragraph) => runsOfParagraph(paragraph, heights ? allSigns : onlyLineSigns));

function runsOfParagraph(paragraph: string, signs: RegExp): MarkedRun[] {
  const found = [...paragraph.matchAll(signs)];
  const struck = found.filter(([sign]) => sign === "~~");
  const loose = struck.length % 2 === 1 ? struck.at(-1) : undefined;
  const lastEnd = found.findLast(([sign]) => sign === "+}")?.index ?? -1;
  const runs: MarkedRun[] = [];
  let from = 0;
  let isStruck = false;
  let isUnderlined = false;
  /** The marks that are open, by their brackets. */
  const open: string[] = [];
  const marks = (): string => (isStruck ? "~" : "") + (isUnderlined ? "+" : "") + open.join("");
  const push = (text: string, own = ""): void => void runs.push({ text, marks: marks() + own });
  for (const one of found) {
    const [sign] = one;
    push(paragraph.slice(from, one.index));
    from = one.index + sign.length;
    if (sign === "~~" && one !== loose) isStruck = !isStruck;
    else if (sign === "{+" && one.index < lastEnd) isUnderlined = true;
    else if (sign === "+}" && isUnderlined) isUnderlined = false;
    else if (sign === "^(" || sign === "_(") {
      // No real letter nests deeper, and each run repeats all marks.
      if (open.length < maxDepth) open.push(sign.charAt(0));
    } else if (sign === ")" && open.length > 0) open.pop();
    else if (/^[\^_]/.test(sign)) push(sign.slice(1), sign.charAt(0));
    else push(/^\\[^\\]/.test(sign) ? sign.slice(1) : sign);
  }
  push(paragraph.slice(from));
  return runs;
}
