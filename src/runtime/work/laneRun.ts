import { setMaxListeners } from "node:events";
import { Behind, type EventStore, StatementTimedOut, StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { NotYet, Process, Timer, WaitForModels } from "#src/processes/process.ts";
import { asError, type Backoff, isTransient, pause, type RunnerLog } from "#src/runtime/projections/retrying.ts";
import type { Recorded } from "#streams/event.ts";
import type { Completion, LaneContinuation } from "./completion.ts";
import type { CompletionQueue } from "./completionQueue.ts";
import { causeOf, type Projected, runHandler } from "./handlerContext.ts";
import { type Item, isEventItem, keepNewestEvent } from "./items.ts";
import type { LaneClaim } from "./lane.ts";
import { TookTooLong, withTimeLimit } from "./timeLimit.ts";
import { laneKeyOfChange, splitTimerChanges, type TimerChange, type TimerId } from "./timerChanges.ts";

export type LaneRunOptions = {
  store: Pick<EventStore, "read">;
  database: Database;
  clock: Clock;
  log: RunnerLog;
  backoff: Backoff;
  process: Process;
  lane: LaneClaim;
  items: readonly Item[];
  completions: CompletionQueue;
  /** Aborted when the claim is lost, or this instance stops. */
  signal: AbortSignal;
  /** False while the claim may have expired without this instance having noticed. */
  isFresh: () => boolean;
  /** Called with the earliest due time of the timers that were stored. */
  onTimer: (dueAt: Date) => void;
  /** Called with a timer that was stored and is due when `when` resolves, if that is before its time. */
  onEarly: (timer: TimerId, when: Promise<unknown>) => void;
  projected: Projected;
  /** Called when the lane is released until the read models have reached a position. */
  onWaiting: (answer: WaitForModels) => void;
  /** A run of the same lane that has to end first. */
  after?: Promise<void>;
};

export type LaneRun = {
  /** Resolves when no handler runs any more and the lane is released. Never rejects. */
  ended: Promise<void>;
  /** True once its last completion is being stored. */
  isEnding(): boolean;
  /** True once this run no longer holds the claim. */
  isReleased(): boolean;
};

/**
 * Failures after which a process gives up on an item, not counting those of infrastructure. With the pauses between them that takes about 9
 * s.
 */
const maxFailures = 5;
/** Timeouts of a handler, or of its statements, after which the item is given up on: by then it is the item's fault. */
const maxTimeouts = 10;
/** Milliseconds of a turn: afterwards the lane goes to the end of the queue. */
const turnMs = 1_000;
/** Seconds after which a running handler is abandoned, unless its process sets another limit. */
const longestRunSeconds = 300;
/** Milliseconds after which a lane that waits for read models is retried, even if nothing woke it. */
export const maxWaitMs = 10_000;

/** Works on the items of one claimed lane in order, until none is left, its turn is over or one fails. */
export function createLaneRun(options: LaneRunOptions): LaneRun {
  const { database, clock, log, backoff, process, lane, items, completions, signal, onTimer } = options;
  /** Timers of this lane that an earlier item of this run has changed. */
  const changed = new Set<string>();
  const { toDo, covered } = process.looksAt === "key" ? keepNewestEvent(items) : { toDo: items, covered: [] };
  /** Aborts the handlers: when the lane is lost, and when one exceeded its time. */
  const handlers = new AbortController();
  const longestRunMs = (process.longestRunSeconds ?? longestRunSeconds) * 1000;
  setMaxListeners(0, handlers.signal);
  const endHandlers = (): void => handlers.abort(signal.reason);
  let completing = false;
  let released = false;

  async function run(): Promise<void> {
    await options.after;
    const began = clock.monotonic();
    for (const item of toDo) {
      if (clock.monotonic() - began > turnMs || !(await mayRun())) break;
      if (!isEventItem(item) && (changed.has(item.timer.name) || !(await isStillDue(item.id)))) continue;
      if (!(await work(item))) return;
    }
    await release({ how: "go on" });
  }

  /** After a suspended process or a database outage, starts nothing until the claim is known to be held. */
  async function mayRun(): Promise<boolean> {
    while (!options.isFresh() && !signal.aborted) await pause(50, signal);
    return !signal.aborted;
  }

  async function isStillDue(id: number): Promise<boolean> {
    try {
      return (await database.query("select 1 from work.items where id = $1", [id])).rowCount === 1;
    } catch {
      return false;
    }
  }

  /** True if the next item may follow. */
  async function work(item: Item): Promise<boolean> {
    const timers: TimerChange[] = [];
    let found: Recorded | Timer | undefined;
    try {
      found = await subjectOf(item);
      const answer = await withTimeLimit(
        longestRunMs,
        runHandler(process, found, {
          ...{ clock, projected: options.projected, attempt: item.tries + 1, signal: handlers.signal },
          onTimer: (change) => void timers.push(change),
        }),
      );
      crashPoint("work:handled");
      if (answer) return await notYet(item, answer, timers);
    } catch (thrown) {
      if (thrown instanceof Behind && !signal.aborted)
        return notYet(item, { waitFor: thrown.position, of: thrown.of }, []);
      return failed(item, found, asError(thrown));
    }
    for (const change of timers) {
      if (laneKeyOfChange(change) === lane.key) changed.add("set" in change ? change.set.name : change.name);
    }
    const last = await allButLast(timers);
    finishCovered(item);
    void completions.add({ lane, done: item.id, timers: last }).then((stored) => stored && tell(last));
    return true;
  }

  /**
   * Stores the timers that are too many for one completion, and returns the rest for the completion itself. If the instance is cut off in
   * between, the item is handled again and sets all of them again.
   */
  async function allButLast(timers: readonly TimerChange[]): Promise<readonly TimerChange[]> {
    const { first, last } = splitTimerChanges(timers);
    for (const part of first) if (await completions.add({ lane, timers: part })) tell(part);
    return last;
  }

  /** Reports the earliest timer only. Later ones are found by polling, so ten thousand due at one moment are handled together. */
  function tell(timers: readonly TimerChange[]): void {
    const set = timers.flatMap((change) => ("set" in change ? change : []));
    if (set.length > 0) onTimer(new Date(Math.min(...set.map(({ set: { dueAt } }) => dueAt.getTime()))));
    for (const {
      set: { key, name },
      orWhen,
    } of set) {
      if (orWhen) options.onEarly({ process: process.name, key, name }, orWhen);
    }
  }

  /** Gives the older events, which the newest one covers, the same result. */
  function finishCovered(item: Item): void {
    if (isEventItem(item)) for (const { id } of covered) void completions.add({ lane, done: id });
  }

  async function subjectOf(item: Item): Promise<Recorded | Timer> {
    if (!isEventItem(item)) return { key: lane.key, ...item.timer };
    const [event] = await options.store.read(item.stream, item.revision, 1);
    if (!event) throw new Error(`the log does not hold event ${item.revision} of ${item.stream}`);
    return event;
  }

  /** Releases a lane whose item is neither done nor failed: the item stays, and other lanes get the slot. */
  async function notYet(item: Item, answer: NotYet, timers: readonly TimerChange[]): Promise<false> {
    if ("setAside" in answer) {
      await release({ how: "set aside", obstacles: answer.setAside }, { timers: await allButLast(timers) });
    } else if ("waitFor" in answer) {
      await release({ how: "retry", at: inMs(maxWaitMs) }, { timers: await allButLast(timers) });
      if (released) options.onWaiting(answer);
    } else {
      const { id, tries, failures } = item;
      await retryLater({ id, tries: tries + 1, failures }, answer.againInMs, await allButLast(timers));
    }
    return false;
  }

  async function failed(item: Item, subject: Recorded | Timer | undefined, error: Error): Promise<false> {
    if (signal.aborted) {
      await release({ how: "go on" });
      return false;
    }
    const late = error instanceof TookTooLong;
    // A handler that ignores the signal may run concurrently with its next attempt: the streams fence what it does.
    if (late) handlers.abort(error);
    const passing = late || isTransient(error) || error instanceof StreamMoved;
    const tries = item.tries + 1;
    const timeouts = item.timeouts + (late || asksTooMuch(error) ? 1 : 0);
    const failures = item.failures + (passing ? 0 : 1);
    if ((failures < maxFailures && timeouts < maxTimeouts) || process.givingUp === "never") {
      log.warn({ ...described(item), err: error, tries }, "process failed, retrying");
      await retryLater({ id: item.id, tries, failures, timeouts }, passing ? pauseOf(tries) : backoff(failures));
      return false;
    }
    await giveUp(item, subject, { error, tries });
    return false;
  }

  /** True for a statement that timed out, unless giving up has side effects: a database that is slow for everybody must not cause those. */
  const asksTooMuch = (error: Error): boolean =>
    error instanceof StatementTimedOut && typeof process.givingUp !== "function";

  /**
   * Runs the process's own `givingUp` first, then parks the item; an error of `givingUp` is parked with it. A transient failure or a
   * timeout of `givingUp` is retried, and nothing is parked yet.
   */
  async function giveUp(
    item: Item,
    subject: Recorded | Timer | undefined,
    { error, tries }: { error: Error; tries: number },
  ): Promise<void> {
    const words = [error.stack ?? error.message];
    const known = subject ?? unread(item);
    if (typeof process.givingUp === "function") {
      try {
        const given = { key: lane.key, cause: causeOf(process.name, known), error };
        await withTimeLimit(longestRunMs, process.givingUp(known, given));
      } catch (failure) {
        if (isTransient(failure) || failure instanceof TookTooLong) {
          log.warn({ ...described(item), err: failure, tries }, "cannot give up on the item yet, retrying");
          return retryLater({ id: item.id, tries, failures: maxFailures - 1 }, pauseOf(tries));
        }
        log.error({ err: failure, process: process.name }, "the process's last resort failed");
        words.push(`the last resort failed: ${asError(failure).message}`);
      }
    }
    log.error({ ...described(item), err: error, tries }, "gave up and parked the item");
    const { id, parked } = item;
    finishCovered(item);
    await release(
      { how: "go on" },
      { givenUp: { id, key: lane.key, item: known, error: words.join("\n"), tries, parked } },
    );
  }

  const described = (item: Item): object => ({ process: process.name, key: lane.key, ...placeOf(item) });

  /** Pauses after transient failures are at most 6.4 s. */
  const pauseOf = (tries: number): number => backoff(Math.min(tries, 4));

  async function retryLater(
    failed: NonNullable<Completion["failed"]>,
    pauseMs: number,
    timers: readonly TimerChange[] = [],
  ): Promise<void> {
    const at = inMs(pauseMs);
    await release({ how: "retry", at }, { failed, timers });
    onTimer(at);
  }

  const inMs = (milliseconds: number): Date => new Date(clock.now().getTime() + milliseconds);

  async function release(next: LaneContinuation, more: Omit<Completion, "lane" | "next"> = {}): Promise<void> {
    completing = true;
    released = await completions.add({ lane, next, ...more });
  }

  if (signal.aborted) endHandlers();
  else signal.addEventListener("abort", endHandlers, { once: true });
  const ended = run()
    .catch((error) => log.error({ err: error, process: process.name }, "a lane could not be worked on"))
    .finally(() => signal.removeEventListener("abort", endHandlers));
  return { ended, isEnding: () => completing, isReleased: () => released };
}

const placeOf = (item: Item): object => (isEventItem(item) ? { position: item.position } : { timer: item.timer.name });

/** Returns a stand-in for an event that could not even be read; it is parked by its position in the log. */
function unread(item: Item): Recorded | Timer {
  if (!isEventItem(item)) throw new Error("a timer is read with its item");
  const { stream, revision, position } = item;
  const trace = { correlationId: crypto.randomUUID(), causationId: crypto.randomUUID() };
  const metadata = { workspaceId: null, actor: { kind: "system", id: "unknown" }, ...trace } as Recorded["metadata"];
  return { id: "", type: "unknown", schemaVersion: 1, stream, revision, position, data: {}, metadata };
}
