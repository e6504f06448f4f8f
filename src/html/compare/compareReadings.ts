import { diffArrays } from "diff";
import { markNames, type TextMarks } from "../letter/markedText.ts";
import { readLetter } from "../letter/readLetter.ts";
import { shortLine, visible } from "../visible.ts";
import { readsAs } from "./optional.ts";
import { readHtml, readText } from "./readings.ts";
import { digitsOf } from "./targets.ts";
import type { ComparedWord } from "./words.ts";

/** Differences of two forms of a body: a few short runs of words and a few link targets, ready for display. */
export type Difference = { onlyHtml: string[]; onlyText: string[]; linksOnlyHtml: string[]; linksOnlyText: string[] };

const most = { runs: 6, runLength: 120, links: 6, linkLength: 200, edits: 1500 };

/**
 * Compares what readers of reduced HTML and of the plain text read; null if it is the same. Case and layout are ignored; amounts, marks
 * (struck through, underlined, raised, lowered, quoted), the numbers of lists and the targets of links are compared. The text may omit
 * the alternative text of a picture and the number of a telephone link; if it has them, they must be at their own place.
 */
export function compareReadings(reducedHtml: string, text: string): Difference | null {
  const formatted = readHtml(readLetter(reducedHtml));
  const plain = readText(visible(text), new Set(formatted.targets.keys()));
  const { removed, added } = readsAs(formatted.items, plain.words)
    ? { removed: [], added: [] }
    : wordsThatDiffer(formatted.words, plain.words);
  const spoken = numbersIn(text);
  const difference = {
    onlyHtml: shownRuns(removed),
    onlyText: shownRuns(added),
    linksOnlyHtml: shownLinks(formatted.targets, (key) => plain.targets.has(key) || spoken.has(key)),
    linksOnlyText: shownLinks(plain.targets, (key) => formatted.targets.has(key) || formatted.named.has(key)),
  };
  return Object.values(difference).some((found) => found.length > 0) ? difference : null;
}

/** Returns keys of all possible telephone numbers: a text may write one with blanks and without `tel:`. */
const numbersIn = (text: string): Set<string> =>
  new Set((text.match(/\d[\d \u00a0()./-]*/g) ?? []).map((run) => `tel:${digitsOf(run)}`));

type DifferingRuns = { removed: ComparedWord[][]; added: ComparedWord[][] };

function wordsThatDiffer(before: ComparedWord[], after: ComparedWord[]): DifferingRuns {
  let start = 0;
  while (start < before.length && start < after.length && before[start]?.key === after[start]?.key) start++;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end)?.key === after.at(-1 - end)?.key) end++;
  return differingRuns(before.slice(start, before.length - end), after.slice(start, after.length - end));
}

/** Compares word by word; if the texts differ too much, each is one run. */
function differingRuns(before: ComparedWord[], after: ComparedWord[]): DifferingRuns {
  const changes = diffArrays(keys(before), keys(after), { maxEditLength: most.edits });
  if (!changes) return { removed: [before], added: [after] };
  const runs: DifferingRuns = { removed: [], added: [] };
  let old = 0;
  let next = 0;
  for (const { value, removed, added } of changes) {
    if (removed) runs.removed.push(before.slice(old, old + value.length));
    else if (added) runs.added.push(after.slice(next, next + value.length));
    if (!added) old += value.length;
    if (!removed) next += value.length;
  }
  return runs;
}

const keys = (words: ComparedWord[]): string[] => words.map(({ key }) => key);

const shownRuns = (runs: ComparedWord[][]): string[] =>
  runs
    .filter((run) => run.length > 0)
    .slice(0, most.runs)
    .map((run) => shortLine(inWords(run.slice(0, most.runLength)), most.runLength));

/** Joins the words of a run, with their marks spelled out: `will not (struck through) pay`. */
const inWords = (run: readonly ComparedWord[]): string =>
  run
    .map(({ shown, marks }, index) => (marks === run[index + 1]?.marks ? shown : `${shown}${marksInWords(marks)}`))
    .join(" ");

const marksInWords = (marks: TextMarks): string =>
  marks === "" ? "" : ` (${[...new Set(marks)].map((mark) => markNames[mark as keyof typeof markNames]).join(", ")})`;

const shownLinks = (targets: Map<string, string>, isKnown: (key: string) => boolean): string[] =>
  [...targets]
    .filter(([key]) => !isKnown(key))
    .slice(0, most.links)
    .map(([, written]) => shortLine(written, most.linkLength));
