import { setMaxListeners } from "node:events";
import type { Clock } from "#src/clock.ts";
import { crashPoint } from "#src/crashPoints.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { Process, WaitFor } from "#src/processes/process.ts";
import { asError, type Backoff, type Log } from "#src/subscriptions/retrying.ts";
import { createEndings } from "./endingBatches.ts";
import type { Projected } from "./handlerContext.ts";
import type { Item } from "./items.ts";
import { createLaneRun, type LaneRun, longestWaitMs } from "./laneRun.ts";
import {
  bringBackLanes,
  type Claimed,
  claimLanes,
  claimMs,
  endWaits,
  extendClaims,
  extendEveryMs,
  giveBackLanes,
  type LaneId,
  type Room,
} from "./lanes.ts";
import { bringBackParked } from "./parked.ts";
import { trySetAside } from "./setAside.ts";
import { createTakeovers } from "./takeovers.ts";

export type WorkerOptions = {
  store: Pick<EventStore, "read">;
  database: Database;
  clock: Clock;
  log: Log;
  /** This instance. */
  holder: string;
  processes: readonly Process[];
  /** Lanes of one process at work at once, unless the process says otherwise. */
  concurrency: number;
  backoff: Backoff;
  projected: Projected;
};

export type Worker = {
  start(): void;
  /** Takes no more lanes, tells handlers to end and waits for them, `graceMs` at most; what was not begun is given back. */
  stop(graceMs: number): Promise<void>;
  /** Something may be ready: looks at once instead of at the next poll. */
  wake(): void;
};

const pollEveryMs = 250;
const parkedEveryMs = 1_000;
const trySetAsideEveryMs = 1_000;
/** Of the room of a process, one workspace gets at most this part. */
const shareOf = (places: number): number => Math.ceil(places * 0.75);

type Running = { run: LaneRun; lane: Claimed; controller: AbortController; extendedAt: number };

/** Claims lanes while there is room, runs them, and keeps the claims alive. Any number of instances do this at once. */
export function createWorker(options: WorkerOptions): Worker {
  const { database, clock, log, holder, processes, concurrency, backoff } = options;
  const byName = new Map(processes.map((process) => [process.name, process]));
  const endings = createEndings({ database, clock, log, backoff, onReady: () => stopping.signal.aborted || wake() });
  const running = new Map<string, Running>();
  const takeovers = createTakeovers(clock);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  let claiming: Promise<void> | undefined;
  let again = false;
  const timers = new Set<NodeJS.Timeout>();

  const roomOf = ({ name, concurrency: own = concurrency }: Process): Room => {
    const lanes = [...running.values()].filter(({ lane }) => lane.process === name);
    const atWork: Record<string, number> = {};
    for (const { workspace } of lanes.map(({ lane }) => lane)) atWork[workspace] = (atWork[workspace] ?? 0) + 1;
    return { process: name, lanes: own - lanes.length, share: shareOf(own), atWork };
  };

  /** Whether lanes may be waiting because there was no room for them: otherwise all that were ready are at work. */
  function isCrowded(process: string): boolean {
    const { concurrency: own = concurrency } = byName.get(process)!;
    const atWork = [...running.values()].filter(({ lane }) => lane.process === process).length;
    return atWork >= shareOf(own);
  }

  function wake(): void {
    again = true;
    claiming ??= claim().finally(() => {
      claiming = undefined;
      if (again && !stopping.signal.aborted) wake();
    });
  }

  async function claim(): Promise<void> {
    // What wakes it in this moment is looked for with one statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (again && !stopping.signal.aborted) {
      again = false;
      const rooms = processes.map(roomOf).filter(({ lanes }) => lanes > 0);
      if (rooms.length === 0) return;
      const claimedAt = clock.monotonic();
      try {
        const claimed = await claimLanes(database, { rooms, holder, now: clock.now() });
        if (claimed.length > 0) crashPoint("work:claimed");
        for (const { lane, items } of claimed) begin(lane, items, claimedAt);
      } catch (error) {
        log.warn({ reason: asError(error).message }, "cannot look for work, retrying");
        return;
      }
    }
  }

  function begin(lane: Claimed, items: readonly Item[], claimedAt: number): void {
    const id = idOf(lane);
    // Its claim ran out here without being noticed, and it is ours again: what runs is let end first.
    const before = running.get(id);
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const entry: Running = { lane, controller, extendedAt: claimedAt, run: undefined as unknown as LaneRun };
    entry.run = createLaneRun({
      ...options,
      process: byName.get(lane.process)!,
      lane,
      items,
      endings,
      signal: controller.signal,
      isFresh: () => clock.monotonic() - entry.extendedAt < claimMs,
      onTimer: wakeAt,
      onWaiting: (answer) => void bringBackWhenReached(lane, answer),
      after: before?.run.ended,
    });
    running.set(id, entry);
    void entry.run.ended.then(() => {
      const wasCrowded = isCrowded(lane.process);
      if (running.get(id) === entry) running.delete(id);
      if (wasCrowded && !stopping.signal.aborted) wake();
    });
  }

  /** One that is due before the next poll need not wait for it. */
  function wakeAt(dueAt: Date): void {
    const inMs = dueAt.getTime() - clock.now().getTime();
    if (inMs >= pollEveryMs || stopping.signal.aborted) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      void bringBackDue();
    }, Math.max(0, inMs) + 1);
    timers.add(timer);
  }

  /** Lanes that are due, and items to be tried again, a page at a time. */
  async function bringBack(page: () => Promise<boolean>): Promise<void> {
    try {
      while (await page()) wake();
    } catch (error) {
      log.warn({ reason: asError(error).message }, "cannot look for what is due, retrying");
    }
    wake();
  }
  const bringBackDue = () =>
    bringBack(async () => {
      const more = await bringBackLanes(database, { now: clock.now(), takesOver: takeovers.allowed() });
      if (takeovers.answered()) await extend();
      return more;
    });
  const bringBackRetried = () => bringBack(() => bringBackParked(database));
  const bringBackTried = () => bringBack(() => trySetAside(database, clock.now()));

  /** Lanes whose read models are there, brought back together. */
  const reached: LaneId[] = [];

  async function bringBackWhenReached(lane: LaneId, { waitFor, of }: WaitFor): Promise<void> {
    if (!(await options.projected(waitFor, { ...(of && { of }), timeoutMs: longestWaitMs, signal: stopping.signal })))
      return;
    reached.push(lane);
    if (reached.length > 1) return;
    await new Promise((resolve) => setImmediate(resolve));
    await bringBack(async () => {
      await endWaits(database, reached.splice(0));
      return false;
    });
  }

  async function extend(): Promise<void> {
    const entries = [...running.values()];
    const askedAt = clock.monotonic();
    if (entries.length === 0) return takeovers.extended(askedAt);
    try {
      const kept = await extendClaims(
        database,
        entries.map(({ lane }) => lane),
      );
      for (const entry of entries) {
        if (kept.has(entry.lane.claim)) entry.extendedAt = askedAt;
        else if (running.get(idOf(entry.lane)) === entry && !entry.run.isEnding()) lose(entry);
      }
      takeovers.extended(askedAt);
    } catch (error) {
      log.warn({ reason: asError(error).message }, "cannot extend claims, retrying");
    }
  }

  function lose({ lane, controller }: Running): void {
    controller.abort(new Error("another instance has taken over this lane"));
    log.warn({ process: lane.process, key: lane.key }, "claim lost");
  }

  const every = (ms: number, work: () => Promise<void>): void => {
    const round = async (): Promise<void> => {
      await work();
      if (stopping.signal.aborted) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        void round();
      }, ms);
      timers.add(timer);
    };
    void round();
  };

  return {
    start() {
      every(pollEveryMs, bringBackDue);
      every(parkedEveryMs, bringBackRetried);
      every(trySetAsideEveryMs, bringBackTried);
      every(extendEveryMs, extend);
    },
    async stop(graceMs) {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
      await claiming;
      const entries = [...running.values()];
      for (const { controller } of entries) controller.abort(new Error("shutting down"));
      const ended = Promise.all(entries.map(({ run }) => run.ended));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
      await endings.close();
      const left = entries.filter(({ run }) => !run.isReleased()).map(({ lane }) => lane);
      if (left.length > 0)
        await giveBackLanes(database, left).catch((error) =>
          log.warn({ reason: asError(error).message }, "cannot give lanes back; their claims run out on their own"),
        );
    },
    wake,
  };
}

const idOf = ({ process, key }: LaneId): string => JSON.stringify([process, key]);
