import type { ProcessObstacle } from "#src/processes/process.ts";
import type { LaneClaim } from "./lane.ts";
import type { FailedForGood } from "./parked.ts";
import type { TimerChange } from "./timerChanges.ts";

/** Continuation of a lane: immediately if it has more items, after a pause, or when an obstacle has ended. */
export type LaneContinuation =
  | { how: "go on" }
  | { how: "retry"; at: Date }
  | { how: "set aside"; obstacles: readonly ProcessObstacle[] };

/** Counts of an item: attempts, failures that are not the infrastructure's, and attempts that exceeded their time. */
export type FailedItem = { id: number; tries: number; failures: number; timeouts?: number };

/** Result of a claimed lane: items done, failed or given up, timers changed, and, at the end of its turn, how it continues. */
export type Completion = {
  lane: LaneClaim;
  done?: number;
  failed?: FailedItem;
  givenUp?: FailedForGood;
  timers?: readonly TimerChange[];
  next?: LaneContinuation;
};
