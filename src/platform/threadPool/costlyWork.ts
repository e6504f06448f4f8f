import {
  type CostlyFunction,
  type CostlyFunctionName,
  costlyFunctions,
  type InputOf,
  type ResultOf,
} from "./costlyFunctions.ts";
import { TaskFault, ThreadsAway, TooMuchWork, WaitedTooLong } from "./faults.ts";
import type { ThreadPool } from "./threadPool.ts";

/**
 * Runs work of works.ts without blocking others: work that may take long runs in a thread, in turns by workspace. Throws TooMuchWork if its
 * turn did not come in time, if the workspace has used up its time of this minute, or if no thread can be started.
 */
export type CostlyWork = <Name extends CostlyFunctionName>(
  name: Name,
  input: InputOf<Name>,
  workspaceId: string,
) => Promise<ResultOf<Name>>;

/** Milliseconds that work waits for a thread. */
const waitMs = 10_000;

const noBytes = new Uint8Array();

export const createCostlyWork =
  (pool: Pick<ThreadPool, "run">): CostlyWork =>
  async <Name extends CostlyFunctionName>(name: Name, input: InputOf<Name>, workspaceId: string) => {
    const { load, size, smallSize, quickSize } = costlyFunctions[name] as unknown as CostlyFunction<
      InputOf<Name>,
      ResultOf<Name>
    >;
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
