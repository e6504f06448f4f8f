import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { WaitForModels } from "#src/processes/process.ts";
import { asError, pause, type RunnerLog } from "#src/runtime/projections/retrying.ts";
import type { Projected } from "./handlerContext.ts";
import type { LaneId } from "./lane.ts";
import { maxWaitMs } from "./laneRun.ts";
import { makeDueLanesReady, makeTimersDue, makeWaitingLanesReady } from "./lanes.ts";
import { unparkItems } from "./parked.ts";
import { findWork } from "./pollSql.ts";
import { markForRetry, wakeLanesOfEndedObstacles } from "./setAside.ts";
import type { TakeoverGuard } from "./takeoverGuard.ts";
import type { TimerId } from "./timerChanges.ts";

type PollerOptions = {
  database: Database;
  clock: Clock;
  log: RunnerLog;
  projected: Projected;
  takeoverGuard: TakeoverGuard;
  /** Names of the processes whose lanes this instance runs. */
  names: readonly string[];
  /** Extends this instance's own claims. */
  extend(): Promise<void>;
  /** Called when lanes may be ready. */
  wake(): void;
  /** Aborted when this instance stops. */
  signal: AbortSignal;
};

export type Poller = {
  start(): void;
  /** Schedules a check for an item that is due at that time. */
  wakeAt(dueAt: Date): void;
  /** Makes a timer due once `when` resolves. */
  dueWhen(timer: TimerId, when: Promise<unknown>): Promise<void>;
  /** A lane waits for read models. */
  whenReached(lane: LaneId, answer: WaitForModels): Promise<void>;
};

const everyMs = 250;

/** Polls the work table: makes due lanes ready, whichever instance left them, and wakes the worker when lanes may be ready. */
export function createPoller(options: PollerOptions): Poller {
  const { database, clock, log, takeoverGuard, names, extend, wake, signal } = options;

  /** Polls once, with one cheap statement, for all kinds of work, including that left by other instances. */
  async function look(): Promise<void> {
    try {
      const found = await findWork(database, { names, now: clock.now(), takesOver: takeoverGuard.allowed() });
      if (takeoverGuard.answered()) await extend();
      if (found.ready) wake();
      if (found.due) await bringBackDue();
      if (found.parked) bringBackRetried();
      if (found.tried) await markForRetry(database, clock.now());
      if (found.ended || found.tried) bringBackEnded();
    } catch (error) {
      tell(error);
    }
  }

  /** Runs page by page until none is left, waking the worker after each. */
  async function bringBack(page: () => Promise<boolean>): Promise<void> {
    try {
      while (await page()) wake();
    } catch (error) {
      tell(error);
    }
    wake();
  }

  const bringBackOnce = (work: () => Promise<void>): Promise<void> =>
    bringBack(async () => {
      await work();
      return false;
    });

  const bringBackDue = (): Promise<void> =>
    bringBack(async () => {
      const more = await makeDueLanesReady(database, { now: clock.now(), takesOver: takeoverGuard.allowed() });
      if (takeoverGuard.answered()) await extend();
      return more;
    });

  async function bringBackAfter(ms: number): Promise<void> {
    await pause(ms, signal);
    if (!signal.aborted) await bringBackDue();
  }

  // Run in parallel with polling, so that slow or locked retries never delay timers.
  const bringBackRetried = skipWhileRunning(() => bringBack(() => unparkItems(database)));
  const bringBackEnded = skipWhileRunning(() => bringBack(() => wakeLanesOfEndedObstacles(database)));

  const tell = (error: unknown): void =>
    log.warn({ reason: asError(error).message }, "cannot look for what is due, retrying");

  const endReached = batchPerTurn<LaneId>((lanes) => bringBackOnce(() => makeWaitingLanesReady(database, lanes)));
  const bringForward = batchPerTurn<TimerId>((timers) =>
    bringBackOnce(() => makeTimersDue(database, timers, clock.now())),
  );

  return {
    start: () => void repeat(everyMs, look, signal),
    // An item due before the next poll need not wait for it.
    wakeAt(dueAt) {
      const inMs = dueAt.getTime() - clock.now().getTime();
      if (inMs < everyMs) void bringBackAfter(Math.max(0, inMs) + 1);
    },
    async dueWhen(timer, when) {
      await when;
      if (!signal.aborted) bringForward(timer);
    },
    async whenReached(lane, { waitFor, of }) {
      if (await options.projected(waitFor, { ...(of && { of }), timeoutMs: maxWaitMs, signal })) endReached(lane);
    },
  };
}

/** Returns a function that starts `work` unless it is still running. `work` must not reject. */
function skipWhileRunning(work: () => Promise<void>): () => void {
  let underWay = false;
  return () => {
    if (underWay) return;
    underWay = true;
    void work().finally(() => {
      underWay = false;
    });
  };
}

/** Returns a function that batches all items given in one turn of the event loop. `work` must not reject. */
function batchPerTurn<One>(work: (all: readonly One[]) => Promise<void>): (one: One) => void {
  const given: One[] = [];
  return (one) => {
    given.push(one);
    if (given.length === 1) setImmediate(() => void work(given.splice(0)));
  };
}

/** Runs `work` at once, then again `ms` milliseconds after each end, until the signal. */
export async function repeat(ms: number, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; await pause(ms, signal)) await work();
}
