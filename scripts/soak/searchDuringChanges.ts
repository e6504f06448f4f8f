import { listThreads, type ThreadRow } from "#projections/threads/queries.ts";
import type { SearchLimits } from "#projections/threads/searchThreads.ts";
import type { Random } from "../support/random.ts";
import type { Report } from "./proof.ts";
import type { SearchedWorkspace } from "./searchedWorkspace.ts";
import { drawChanges, eventsOf } from "./searchMail.ts";
import { compareRows, drawQuestions, isListed, type SearchQuestion } from "./searchQuestions.ts";

/** Changes of a round, and the searches that are repeated meanwhile. */
const [changesAtOnce, searchesAtOnce] = [20, 10];

export type Answer = Awaited<ReturnType<typeof listThreads>>;

/** A question, and whether a thread is in its list and is found, by a state of the read models. */
type State = { lists(threadId: string): boolean; finds(threadId: string): boolean };

/**
 * Searches while changes are appended and projected. Each thread must be found, or not, by its row before the changes or after them, and by
 * its messages before or after them: `threads` and `search` are written one after the other. Returns the number of answers.
 */
export async function searchDuringChanges({
  workspace,
  random,
  limits,
  report,
}: {
  workspace: SearchedWorkspace;
  random: Random;
  limits: SearchLimits;
  report: Report;
}): Promise<number> {
  const { oracle, mail } = workspace;
  const rows = await workspace.rows();
  const questions = drawQuestions({ random, oracle, rows }, searchesAtOnce);
  const statesOf = async (): Promise<State[]> => {
    const byId = new Map((await workspace.rows()).map((row) => [row.id, row]));
    return questions.map((question) => ({
      finds: oracle.finds(question),
      lists: (id) => byId.has(id) && isListed(byId.get(id)!, question),
    }));
  };
  const before = await statesOf();
  const changes = drawChanges(mail, { count: changesAtOnce, onlyKnown: true });
  const window = { limit: rows.length + changes.length, offset: 0 };
  const searchLimits = { ...limits, onChoice: () => {} };
  const answers: [number, Answer][] = [];
  let isOver = false;
  const searching = async (): Promise<void> => {
    while (!isOver) {
      const n = answers.length % questions.length;
      const filter = { ...questions[n], ...window, searchLimits };
      answers.push([n, await listThreads(workspace.reads, workspace.workspaceId, filter)]);
    }
  };
  const changing = workspace.change(changes).finally(() => {
    isOver = true;
  });
  await Promise.all([changing, searching()]);
  for (const event of eventsOf(changes)) oracle.apply(event);
  const after = await statesOf();
  const ids = (await workspace.rows()).map(({ id }) => id);
  for (const [n, answer] of answers) {
    const question = questions[n] as SearchQuestion;
    for (const fault of faultsOf(answer, { question, ids, states: [before[n]!, after[n]!], limits }))
      report.violation(`${show(question)} during changes: ${fault}`);
  }
  return answers.length;
}

/** Returns what neither the state before the changes nor that after them explains. */
function faultsOf(
  { data, ...answer }: Answer,
  {
    question,
    ids,
    states,
    limits,
  }: {
    question: SearchQuestion;
    ids: readonly string[];
    states: readonly State[];
    limits: SearchLimits;
  },
): string[] {
  const found = new Set(data.map(({ id }) => id));
  const mayBe = (id: string, isFound: boolean): boolean =>
    states.some(({ lists }) => states.some(({ finds }) => (lists(id) && finds(id)) === isFound));
  const odd = ids.filter((id) => !mayBe(id, found.has(id)));
  const [total, wanted] = [totalIn(answer), totalOf(data.length, limits)];
  return [
    ...odd.map((id) => `${id} is ${found.has(id) ? "found" : "not found"}`),
    ...(isSorted(data, question) ? [] : ["not in order, or a thread twice"]),
    ...(show(total) === show(wanted) ? [] : [`has the total ${show(total)}, not ${show(wanted)}`]),
  ];
}

const isSorted = (rows: readonly ThreadRow[], question: SearchQuestion): boolean =>
  rows.every((row, index) => index === 0 || compareRows(rows[index - 1] as ThreadRow, row, question) < 0);

/** Returns the total that a search must have if it finds so many threads. */
export const totalOf = (threads: number, { mostCounted }: SearchLimits) => ({
  total: Math.min(threads, mostCounted),
  capped: threads > mostCounted,
});

export const totalIn = ({ total, total_capped }: Pick<Answer, "total" | "total_capped">) => ({
  total,
  capped: total_capped === true,
});

export const show = (value: unknown): string => JSON.stringify(value) ?? "nothing";
