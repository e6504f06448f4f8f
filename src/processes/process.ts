import type { ReadModel } from "#projections/names.ts";
import type { Cause } from "#src/commands/handle.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** A timer of a process: one row, due once. Setting it again under the same name moves it. */
export type Timer = { key: string; name: string; dueAt: Date; payload: Record<string, unknown> };

/**
 * A timer to set, due at a time or in so many milliseconds; its payload is empty by default. `orWhen`: due at once when this promise
 * resolves; lost if the instance ends before, and then the time alone counts.
 */
export type NewTimer = Pick<Timer, "key" | "name"> &
  Partial<Pick<Timer, "payload">> & { orWhen?: Promise<unknown> | undefined } & ({ dueAt: Date } | { inMs: number });

/** A timer set under the key of its event. */
export type LaterTimer = Pick<Timer, "name"> & Partial<Pick<Timer, "payload">> & { inMs: number };

/** Context of a run: the cause, and the timers. */
export type Acting = Pick<ProcessContext, "timers" | "cause">;

/** Passed to a handler with its event. Timers set or cancelled here are durable before the event counts as handled. */
export type ProcessContext = {
  /** The event or timer that is handled, as the cause of new events. The actor is the process. */
  cause: Cause;
  /** Returns the same context with another event as the cause. */
  because(event: Recorded): ProcessContext;
  /** Timers keep the cause under which they were set. */
  timers: {
    set(timer: NewTimer): Promise<void>;
    cancel(key: string, name: string): Promise<void>;
  };
  /**
   * True if the read models (default: the main group) reach a log position now or within moments. If false, the handler returns `{
   * waitFor: position, of }` with the same models.
   */
  reached(position: number, of?: readonly ReadModel[]): Promise<boolean>;
  /** Counts the tries of this event, from 1. */
  attempt: number;
  /** Aborted when this instance loses the lane, the handler runs too long, or the instance shuts down. */
  signal: AbortSignal;
};

/**
 * Things that existed in an event's workspace when it happened; true where unknown. `furtherChannels`: an identity has or had an approval
 * channel other than one mailbox: a chat, or a second channel.
 */
export type Listeners = { rules: boolean; webhooks: boolean; furtherChannels: boolean };

/** A stream that prevents something, and the revision at which it was read. */
export type ProcessObstacle = Guard;

/**
 * Returned by a handler that cannot continue until another event happens. The event (or timer), and everything behind it under its key,
 * stays queued. It is handed over again after the next event of its key, or the next event on one of these streams (installation,
 * workspace, identity or domain) that can end an obstacle (streams/obstacleEnds.ts).
 */
export type SetAside = { setAside: readonly ProcessObstacle[] };

/**
 * Returned by a handler if read models must reach a position first. The lane stays queued without occupying
 * a worker, and is handed over again then.
 */
export type WaitForModels = { waitFor: number; of?: readonly ReadModel[] };

/** Returned by a handler to be called again after `againInMs`. Not a failure; everything behind it under its key waits. */
export type RetryLater = { againInMs: number };

/** Reasons why a handler is not done yet. */
export type NotYet = SetAside | WaitForModels | RetryLater;

/** Result of a handler: undefined if it is done. */
export type HandlerResult = Promise<NotYet | undefined> | Promise<void>;

/**
 * A rule: events in, commands out. At-least-once, in order per key, concurrent across keys; so every handler must be idempotent
 * (derived ids, expected revisions). Handlers may run twice at the same moment on two instances after a takeover: streams do the fencing.
 */
export type Process = {
  /** Named after the rule, for example `escalateUnanswered`. */
  name: string;
  /** Stream categories whose events it receives. */
  categories: readonly string[];
  keyOf(event: Recorded): string;
  /**
   * False if an event is irrelevant: then nothing is planned and no handler runs. By default every
   * event whose type is in `on` is relevant.
   */
  concerns?(event: Recorded<any>, listeners: Listeners): boolean;
  /**
   * Handlers by event type. `any`: the type's name determines the data, and each handler names it; the runner passes what the log holds.
   */
  on: { [type: string]: (event: Recorded<any>, context: ProcessContext) => HandlerResult };
  /**
   * Events that are checked later, because by then the log usually makes the check unnecessary, by type. Each sets a timer under its key
   * in the transaction that plans it; no handler is called.
   */
  later?: { [type: string]: (event: Recorded<any>) => LaterTimer };
  /**
   * "key": the handlers depend on streams alone, not on the event that woke them, so of several waiting events under one key only the
   * newest is handled and the others are done too. Default: every event is handled.
   */
  looksAt?: "event" | "key";
  /**
   * Start of a new process (default: at the beginning of the log). A process that notifies people starts now: old events are no news.
   */
  begins?: "with the log" | "now";
  /**
   * For processes that must not act on old events: they notify people or programs outside without recording it in the log, or they depend
   * on the present configuration. When a restored database is rewound, they skip the events between the backup and the end of the log. All
   * others handle them again: their streams say what is left to do.
   */
  onlyNews?: true;
  /** Seconds after which a running handler counts as failed (default 300). */
  longestRunSeconds?: number;
  /** Handlers running at once, for those that mostly wait for other services; default: the runner's number. */
  concurrency?: number;
  /** Limit of `concurrency` for one owner, the part of the key before its first space. Default: none. */
  ownerConcurrency?: number;
  onTimer?: (timer: Timer, context: ProcessContext) => HandlerResult;
  /**
   * Treatment of an event (or timer) that fails too often. Default: it is parked with its error, listed, and retried by
   * the operator (`npm run processes`). "never": retried with backoff without end (filing). A function performs the
   * rule's last resort, then the item is parked.
   */
  givingUp?: "never" | ((event: Recorded | Timer, given: { key: string; cause: Cause; error: Error }) => Promise<void>);
};
