import { setMaxListeners } from "node:events";
import { Behind, type EventStore, StatementTimedOut, StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { NotYet, Process, Timer, WaitFor } from "#src/processes/process.ts";
import { asError, type Backoff, isPassing, type Log, pause } from "#src/runtime/projections/retrying.ts";
import type { Recorded } from "#streams/event.ts";
import type { Ending, Next } from "./ending.ts";
import type { Endings } from "./endingBatches.ts";
import { causeOf, handle, type Projected } from "./handlerContext.ts";
import { type Item, isEventItem, newestOf } from "./items.ts";
import type { Claimed } from "./lane.ts";
import { TookTooLong, within } from "./timeLimit.ts";
import { keyOfChange, partsOf, type TimerChange, type TimerId } from "./timerChanges.ts";

export type LaneRunOptions = {
  store: Pick<EventStore, "read">;
  database: Database;
  clock: Clock;
  log: Log;
  backoff: Backoff;
  process: Process;
  lane: Claimed;
  items: readonly Item[];
  endings: Endings;
  /** Aborted when the claim is lost, or this instance stops. */
  signal: AbortSignal;
  /** False while the claim may have run out without this instance having noticed. */
  isFresh: () => boolean;
  /** Called with the time of the soonest of the timers that were stored. */
  onTimer: (dueAt: Date) => void;
  /** Called with a timer that was stored and is due when `when` resolves, if that is before its time. */
  onEarly: (timer: TimerId, when: Promise<unknown>) => void;
  projected: Projected;
  /** Told when the lane is let go until the read models have reached a position. */
  onWaiting: (answer: WaitFor) => void;
  /** A run of the same lane that has to end first. */
  after?: Promise<void>;
};

export type LaneRun = {
  /** Resolves when nothing runs any more and the lane is given up. Never rejects. */
  ended: Promise<void>;
  /** True from when its last word is on its way. */
  isEnding(): boolean;
  /** True once the lane is not claimed by this run any more. */
  isReleased(): boolean;
};

/** Failures, not counting those of infrastructure, after which a process gives up on an item: with the pauses between, some 9 s. */
const maxFailures = 5;
/** A handler that has so often not ended in its time, or asked the database for too much, is given up on too: it is the item's fault by then. */
const maxTimeouts = 10;
/** After this long the lane goes to the end of the queue, in milliseconds. */
const turnMs = 1_000;
/** A handler that has not ended after this long is given up, unless its process says otherwise. */
const longestRunSeconds = 300;
/** A lane that waits for read models is looked at again after this long, no matter what was to wake it, in milliseconds. */
export const longestWaitMs = 10_000;

/** Works on the items of one claimed lane in order, until there are no more, its turn is over or one fails. */
export function createLaneRun(options: LaneRunOptions): LaneRun {
  const { database, clock, log, backoff, process, lane, items, endings, signal, onTimer } = options;
  /** Timers of this lane that an item before has changed. */
  const changed = new Set<string>();
  const { toDo, covered } = process.looksAt === "key" ? newestOf(items) : { toDo: items, covered: [] };
  /** Handlers are told to end when the lane is lost, and when they took too long. */
  const handlers = new AbortController();
  const longestRunMs = (process.longestRunSeconds ?? longestRunSeconds) * 1000;
  setMaxListeners(0, handlers.signal);
  const endHandlers = (): void => handlers.abort(signal.reason);
  let ending = false;
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

  /** After a long silence, a stopped process or an absent database, nothing new begins until the claim is known to be held. */
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
      const answer = await within(
        longestRunMs,
        handle(process, found, {
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
      if (keyOfChange(change) === lane.key) changed.add("set" in change ? change.set.name : change.name);
    }
    const last = await allButLast(timers);
    finishCovered(item);
    void endings.add({ lane, done: item.id, timers: last }).then((stored) => stored && tell(last));
    return true;
  }

  /**
   * Stores timers that are too many for one ending, and answers those that are left for it. An instance that is cut off in between has the item handed over
   * again, and sets them all once more.
   */
  async function allButLast(timers: readonly TimerChange[]): Promise<readonly TimerChange[]> {
    const { first, last } = partsOf(timers);
    for (const part of first) if (await endings.add({ lane, timers: part })) tell(part);
    return last;
  }

  /** Those that come a little later are found by the looks: ten thousand of one moment are brought back together. */
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

  /** Whatever came of the newest event came of those that waited before it. */
  function finishCovered(item: Item): void {
    if (isEventItem(item)) for (const { id } of covered) void endings.add({ lane, done: id });
  }

  async function subjectOf(item: Item): Promise<Recorded | Timer> {
    if (!isEventItem(item)) return { key: lane.key, ...item.timer };
    const [event] = await options.store.read(item.stream, item.revision, 1);
    if (!event) throw new Error(`the log does not hold event ${item.revision} of ${item.stream}`);
    return event;
  }

  /** Neither done nor failed: the item stays where it is, and the place goes to other lanes. */
  async function notYet(item: Item, answer: NotYet, timers: readonly TimerChange[]): Promise<false> {
    if ("setAside" in answer) {
      await release({ how: "set aside", obstacles: answer.setAside }, { timers: await allButLast(timers) });
    } else if ("waitFor" in answer) {
      await release({ how: "retry", at: inMs(longestWaitMs) }, { timers: await allButLast(timers) });
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
    // One that goes on all the same may run beside its next try: the streams fence what it does.
    if (late) handlers.abort(error);
    const passing = late || isPassing(error) || error instanceof StreamMoved;
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

  /** If giving up has consequences of its own, a database that is slow for everybody must not bring them about. */
  const asksTooMuch = (error: Error): boolean =>
    error instanceof StatementTimedOut && typeof process.givingUp !== "function";

  /**
   * The rule's own way to give up first; what goes wrong in it is parked along. What passes by itself is waited for, and what does not end keeps
   * no place: both are tried again, and nothing is parked yet.
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
        await within(longestRunMs, process.givingUp(known, given));
      } catch (failure) {
        if (isPassing(failure) || failure instanceof TookTooLong) {
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

  /** What passes by itself is waited for 6.4 s at a time at most. */
  const pauseOf = (tries: number): number => backoff(Math.min(tries, 4));

  async function retryLater(
    failed: NonNullable<Ending["failed"]>,
    pauseMs: number,
    timers: readonly TimerChange[] = [],
  ): Promise<void> {
    const at = inMs(pauseMs);
    await release({ how: "retry", at }, { failed, timers });
    onTimer(at);
  }

  const inMs = (milliseconds: number): Date => new Date(clock.now().getTime() + milliseconds);

  async function release(next: Next, more: Omit<Ending, "lane" | "next"> = {}): Promise<void> {
    ending = true;
    released = await endings.add({ lane, next, ...more });
  }

  if (signal.aborted) endHandlers();
  else signal.addEventListener("abort", endHandlers, { once: true });
  const ended = run()
    .catch((error) => log.error({ err: error, process: process.name }, "a lane could not be worked on"))
    .finally(() => signal.removeEventListener("abort", endHandlers));
  return { ended, isEnding: () => ending, isReleased: () => released };
}

const placeOf = (item: Item): object => (isEventItem(item) ? { position: item.position } : { timer: item.timer.name });

/** What could not even be read is parked by its place in the log. */
function unread(item: Item): Recorded | Timer {
  if (!isEventItem(item)) throw new Error("a timer is read with its item");
  const { stream, revision, position } = item;
  const trace = { correlationId: crypto.randomUUID(), causationId: crypto.randomUUID() };
  const metadata = { workspaceId: null, actor: { kind: "system", id: "unknown" }, ...trace } as Recorded["metadata"];
  return { id: "", type: "unknown", schemaVersion: 1, stream, revision, position, data: {}, metadata };
}
