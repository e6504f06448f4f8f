import { TaskFault, ThreadsAway, TooMuchWork, WaitedTooLong } from "./faults.ts";
import type { ThreadPool } from "./threadPool.ts";
import { type InputOf, type ResultOf, type Work, type WorkName, works } from "./works.ts";

/**
 * Does work of works.ts so that nobody else waits for it: what may take long in a thread, in turns by workspace. Throws TooMuchWork where its turn
 * did not come in time, where the workspace has had its time of this minute, and where no thread can be started.
 */
export type CostlyWork = <Name extends WorkName>(
  name: Name,
  input: InputOf<Name>,
  workspaceId: string,
) => Promise<ResultOf<Name>>;

/** Milliseconds that it waits for a thread. */
const waitMs = 10_000;

const noBytes = new Uint8Array();

export const createCostlyWork =
  (pool: Pick<ThreadPool, "run">): CostlyWork =>
  async <Name extends WorkName>(name: Name, input: InputOf<Name>, workspaceId: string) => {
    const { load, size, smallSize, quickSize } = works[name] as unknown as Work<InputOf<Name>, ResultOf<Name>>;
    const characters = size(input);
    if (characters <= smallSize) return (await load())(input);
    const job = { name: "work", work: name, input, bytes: noBytes } as const;
    const options = { turn: workspaceId, slow: characters > quickSize, waitMs };
    return pool.run<ResultOf<Name>>(job, options).catch(asUnavailable);
  };

function asUnavailable(error: unknown): never {
  const isBusy = error instanceof WaitedTooLong || error instanceof ThreadsAway;
  if (!isBusy && !(error instanceof TaskFault && error.overBudget)) throw error;
  throw new TooMuchWork("there is too much to work on at the moment: retry shortly", { cause: error });
}
