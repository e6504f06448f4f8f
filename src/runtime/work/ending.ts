import type { Obstacle } from "#src/processes/process.ts";
import type { Claimed } from "./lane.ts";
import type { GivenUp } from "./parked.ts";
import type { TimerChange } from "./timerChanges.ts";

/** How a lane goes on: at once if there is more to do, after a pause, or when an obstacle has ended. */
export type Next = { how: "go on" } | { how: "retry"; at: Date } | { how: "set aside"; obstacles: readonly Obstacle[] };

/** How often an item was tried, failed for reasons of its own, and did not end in its time. */
export type Failed = { id: number; tries: number; failures: number; timeouts?: number };

/** What has come of a claimed lane: items done, failed or given up, timers changed, and at the end of its turn how it goes on. */
export type Ending = {
  lane: Claimed;
  done?: number;
  failed?: Failed;
  givenUp?: GivenUp;
  timers?: readonly TimerChange[];
  next?: Next;
};
