import { listThreads } from "#projections/threads/queries.ts";
import type { SearchLimits } from "#projections/threads/searchThreads.ts";
import { createRandom, type Random } from "../support/random.ts";
import type { Proof, Report } from "./proof.ts";
import { type Answer, searchDuringChanges, show, totalIn, totalOf } from "./searchDuringChanges.ts";
import { openSearchedWorkspace, type SearchedWorkspace } from "./searchedWorkspace.ts";
import { compareRows, drawQuestions, isListed, type SearchQuestion, type StoredRow } from "./searchQuestions.ts";

/** Limits in proportion to the threads, so that all ways of a search are taken. */
function limitsFor(threads: number): SearchLimits {
  const scale = Math.max(1, threads / 600);
  const scaled = (limit: number): number => Math.round(limit * scale);
  return {
    ...{ fewThreads: 0, firstThreads: 20, leastHits: 4 },
    ...{ longestWalk: scaled(100), mostMessages: scaled(60), mostCounted: scaled(50) },
  };
}

/** Searches between two rounds of changes, at least, and rounds, at most. */
const [leastPerRound, mostRounds] = [25, 20];

type Searching = {
  workspace: SearchedWorkspace;
  random: Random;
  limits: SearchLimits;
  report: Report;
  /** Number of pages, of totals that were capped, and of searches that found a thread. */
  counts: { pages: number; capped: number; found: number };
};

export const search: Proof = {
  name: "search",
  title:
    "a search of threads finds what a comparison with every message finds, on each of its ways, while mail arrives too",
  unit: "searches",
  full: 2_000,
  checked: 600,
  sample: 100,
  async run({ size, seed, report }) {
    const random = createRandom(seed);
    const threads = 2 * size;
    const ways = { walk: 0, few: 0, lookUp: 0 };
    const limits = {
      ...limitsFor(threads),
      onChoice: (way: keyof typeof ways): void => void ways[way]++,
    };
    const perRound = Math.max(leastPerRound, Math.ceil(size / mostRounds));
    const workspace = await openSearchedWorkspace({ random, threads, report });
    const counts = { pages: 0, capped: 0, found: 0 };
    let duringChanges = 0;
    const searching = { workspace, random, limits, report, counts };
    try {
      for (let done = 0; done < size; ) {
        duringChanges += await searchDuringChanges(searching);
        const rows = await workspace.rows();
        const questions = drawQuestions({ ...workspace, random, rows }, Math.min(perRound, size - done));
        for (const question of questions) {
          await searchAtRest(searching, question, rows);
          report.progress(++done, size, "searches");
        }
      }
    } finally {
      await workspace.close();
    }
    report.figure("messages", workspace.oracle.messages().length);
    report.figure("searches by a walk, among few threads, by a look-up", Object.values(ways).join(", "));
    report.figure("searches that found a thread", `${counts.found} of ${size}`);
    report.figure("totals that were capped", counts.capped);
    report.figure("pages compared", counts.pages);
    report.figure("searches during changes", duringChanges);
    const least = Math.min(...Object.values(ways), counts.found);
    if (least < size / 10)
      report.violation(`only ${least} of ${size} searches went one of the ways, or found a thread`);
    if (counts.capped < size / 50) report.violation(`only ${counts.capped} of ${size} totals were capped`);
  },
};

/** Compares the whole list that a search finds, then pages of it. */
async function searchAtRest(searching: Searching, question: SearchQuestion, rows: readonly StoredRow[]): Promise<void> {
  const { workspace, random, limits, report, counts } = searching;
  const silent: SearchLimits = { ...limits, onChoice: () => {} };
  const finds = workspace.oracle.finds(question);
  const listed = rows.filter((row) => isListed(row, question)).sort((a, b) => compareRows(a, b, question));
  const expected = listed.map(({ id }) => id).filter(finds);
  const differ = (what: string, answer: unknown, wanted: unknown): void =>
    report.violation(`${show(question)}: ${what} ${show(answer)}, not ${show(wanted)}`);
  const whole = { limit: rows.length, offset: 0 };
  const ask = async (window: object, wanted: readonly string[], searchLimits = silent): Promise<Answer> => {
    const filter = { ...question, ...whole, ...window, searchLimits };
    const answer = await listThreads(workspace.reads, workspace.workspaceId, filter);
    counts.pages += 1;
    const found = answer.data.map(({ id }) => id);
    if (found.join() !== wanted.join()) differ("finds", ...firstDifference(found, wanted));
    const total = totalOf(expected.length, searchLimits);
    if (show(totalIn(answer)) !== show(total)) differ("has the total", totalIn(answer), total);
    return answer;
  };
  if (expected.length > 0) counts.found += 1;
  if (expected.length > limits.mostCounted) counts.capped += 1;
  await ask({}, expected, limits);
  // A short list is walked to its end. `mostCounted` is the walk's number of hits or one less, so some totals are capped and some exact.
  const drawLimits = (longest: number): SearchLimits => {
    const fewThreads = random.chance(0.3) ? rows.length : limits.fewThreads;
    const longestWalk = random.chance(0.3) ? rows.length : random.below(longest + 1);
    const walked = listed.slice(0, longestWalk).filter(({ id }) => finds(id)).length;
    return { ...silent, fewThreads, longestWalk, mostCounted: Math.max(1, walked - random.below(2)) };
  };
  if (random.chance(0.2)) await ask({}, expected, drawLimits(listed.length));
  if (random.chance(0.5)) return;
  const limit = 1 + random.below(25);
  const offset = random.below(expected.length + 2);
  await ask({ limit, offset }, expected.slice(offset, offset + limit));
  // By cursors, to the end of the list or for a few pages.
  const pages = random.chance(0.1) ? 40 : 4;
  // Walks that end before the page is full.
  const ofPages = random.chance(0.3) ? { ...drawLimits(2 * limit), firstThreads: rows.length, leastHits: 1 } : silent;
  let after: Answer["next"] | undefined;
  for (let place = 0, page = 0; page < pages; page++, place += limit) {
    const answer = await ask({ limit, ...(after && { after }) }, expected.slice(place, place + limit), ofPages);
    const isEnd = place + limit >= expected.length;
    if (isEnd !== (answer.next === null)) differ("has the next page", answer.next, isEnd ? null : "a cursor");
    if (answer.next === null) break;
    after = answer.next;
  }
}

/** Returns the first place at which two lists of ids differ, with the lengths of both. */
function firstDifference(found: readonly string[], wanted: readonly string[]): [string, string] {
  const at = [...found, ...wanted].findIndex((_, index) => found[index] !== wanted[index]);
  return [`${found[at]} at ${at} of ${found.length}`, `${wanted[at]} at ${at} of ${wanted.length}`];
}
