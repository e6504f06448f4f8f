import { setMaxListeners } from "node:events";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { createPace } from "#src/runtime/projections/pace.ts";
import { asError, type Backoff, type RunnerLog } from "#src/runtime/projections/retrying.ts";
import { type Capacity, capacityBesides, hasReachedLimit } from "./capacity.ts";
import { createCompletionQueue } from "./completionQueue.ts";
import type { Projected } from "./handlerContext.ts";
import type { Item } from "./items.ts";
import type { LaneClaim, LaneId } from "./lane.ts";
import { createLaneRun, type LaneRun } from "./laneRun.ts";
import { claimLanes, claimMs, extendClaims, extendEveryMs, releaseLanes } from "./lanes.ts";
import { createPoller, repeat } from "./poller.ts";
import { createTakeoverGuard } from "./takeoverGuard.ts";

export type WorkerOptions = {
  store: Pick<EventStore, "read">;
  database: Database;
  clock: Clock;
  log: RunnerLog;
  /** Unique id of this instance. */
  holder: string;
  processes: readonly Process[];
  /** Maximum number of lanes of one process that run concurrently, unless the process sets another number. */
  concurrency: number;
  backoff: Backoff;
  projected: Projected;
};

export type Worker = {
  start(): void;
  /** Claims no more lanes, aborts handlers and waits for them, `graceMs` at most; releases the lanes that are not finished. */
  stop(graceMs: number): Promise<void>;
  /** Called when lanes may be ready: claims at once instead of at the next poll. */
  wake(): void;
};

const shuttingDown = new Error("shutting down");

type Running = { run: LaneRun; lane: LaneClaim; controller: AbortController; extendedAt: number };

/** Claims lanes while slots are free, runs them, and extends the claims. Several instances may do this concurrently. */
export function createWorker(options: WorkerOptions): Worker {
  const { database, clock, log, holder, processes, concurrency, backoff } = options;
  const byName = new Map(processes.map((process) => [process.name, process]));
  const completions = createCompletionQueue({
    ...{ database, clock, log, backoff },
    onReady: () => wake(),
  });
  const running = new Map<string, Running>();
  /** Runs whose claims are not known to be released. */
  const claimed = new Set<Running>();
  const pace = createPace(clock);
  const takeoverGuard = createTakeoverGuard(clock);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  let claiming: Promise<void> | undefined;
  let again = false;
  const poller = createPoller({
    ...{ database, clock, log, takeoverGuard, extend, wake, signal: stopping.signal, projected: options.projected },
    names: processes.map(({ name }) => name),
  });

  /** Returns the free slots of one process now. */
  function roomOf(process: Process): Capacity {
    const placed = [...running.values()].map(({ lane }) => lane);
    return capacityBesides(
      process,
      concurrency,
      placed.filter((lane) => lane.process === process.name),
    );
  }

  /** Claims ready lanes at once instead of at the next poll. */
  function wake(): void {
    if (stopping.signal.aborted) return;
    again = true;
    claiming ??= claim().finally(() => {
      claiming = undefined;
      if (again && !stopping.signal.aborted) wake();
    });
  }

  async function claim(): Promise<void> {
    // Wake-ups of the same turn of the event loop share one statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (again && !stopping.signal.aborted) {
      await pace.next();
      again = false;
      const rooms = processes.map(roomOf).filter(({ lanes }) => lanes > 0);
      if (rooms.length === 0) return;
      const claimedAt = clock.monotonic();
      try {
        const taken = await pace.taking(() => claimLanes(database, { rooms, holder, now: clock.now() }));
        if (taken.length > 0) crashPoint("work:claimed");
        for (const { lane, items } of taken) begin(lane, items, claimedAt);
      } catch (error) {
        log.warn({ reason: asError(error).message }, "cannot look for work, retrying");
        return;
      }
    }
  }

  function begin(lane: LaneClaim, items: readonly Item[], claimedAt: number): void {
    const id = idOf(lane);
    // An earlier claim of this lane expired unnoticed and was claimed here again: its run has to end first.
    const before = running.get(id);
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const entry: Running = { lane, controller, extendedAt: claimedAt, run: undefined as unknown as LaneRun };
    entry.run = createLaneRun({
      ...options,
      process: byName.get(lane.process)!,
      lane,
      items,
      completions,
      signal: controller.signal,
      isFresh: () => clock.monotonic() - entry.extendedAt < claimMs,
      onTimer: poller.wakeAt,
      onEarly: (timer, when) => void poller.dueWhen(timer, when),
      onWaiting: (answer) => void poller.whenReached(lane, answer),
      after: before?.run.ended,
    });
    running.set(id, entry);
    claimed.add(entry);
    if (stopping.signal.aborted) controller.abort(shuttingDown);
    void entry.run.ended.then(() => {
      const wasCrowded = hasReachedLimit(roomOf(byName.get(lane.process)!));
      if (running.get(id) === entry) running.delete(id);
      if (entry.run.isReleased() || !stopping.signal.aborted) claimed.delete(entry);
      if (wasCrowded) wake();
    });
  }

  async function extend(): Promise<void> {
    const entries = [...running.values()];
    const askedAt = clock.monotonic();
    if (entries.length === 0) return takeoverGuard.extended(askedAt);
    try {
      const kept = await extendClaims(
        database,
        entries.map(({ lane }) => lane),
      );
      for (const entry of entries) {
        if (kept.has(entry.lane.claim)) entry.extendedAt = askedAt;
        else if (running.get(idOf(entry.lane)) === entry && !entry.run.isEnding()) lose(entry);
      }
      takeoverGuard.extended(askedAt);
    } catch (error) {
      log.warn({ reason: asError(error).message }, "cannot extend claims, retrying");
    }
  }

  function lose({ lane, controller }: Running): void {
    controller.abort(new Error("another instance has taken over this lane"));
    log.warn({ process: lane.process, key: lane.key }, "claim lost");
  }

  return {
    start() {
      poller.start();
      void repeat(extendEveryMs, extend, stopping.signal);
    },
    async stop(graceMs) {
      stopping.abort();
      await claiming;
      for (const { controller } of claimed) controller.abort(shuttingDown);
      const allEnded = Promise.all([...running.values()].map(({ run }) => run.ended));
      await Promise.race([allEnded, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
      await completions.close();
      const left = [...claimed].map(({ lane }) => lane);
      if (left.length > 0)
        await releaseLanes(database, left).catch((error) =>
          log.warn({ reason: asError(error).message }, "cannot give lanes back; their claims run out on their own"),
        );
    },
    wake,
  };
}

const idOf = ({ process, key }: LaneId): string => JSON.stringify([process, key]);
