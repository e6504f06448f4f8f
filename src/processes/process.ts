import type { ReadModel } from "#projections/names.ts";
import type { Cause } from "#src/commands/handle.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** A timer of a process: one row, due once. Setting a timer with the same key and name moves it. */
export type Timer = { key: string; name: string; dueAt: Date; payload: Record<string, unknown> };

/**
 * A timer to set, due at a time or after `inMs` milliseconds; default payload: empty. `orWhen`: promise that makes the timer due at once
 * when it resolves. If the instance ends before, the promise is lost, and the timer is due at its time.
 */
export type NewTimer = Pick<Timer, "key" | "name"> &
  Partial<Pick<Timer, "payload">> & { orWhen?: Promise<unknown> | undefined } & ({ dueAt: Date } | { inMs: number });

/** A timer set under the key of its event, due at a time or that long after the event is planned. */
export type LaterTimer = Pick<Timer, "name"> & Partial<Pick<Timer, "payload">> & ({ dueAt: Date } | { inMs: number });

/** Context of a run: the cause, and the timers. */
export type Acting = Pick<ProcessContext, "timers" | "cause">;

/** Passed to a handler with its event. Timers set or cancelled here are durable before the event counts as handled. */
export type ProcessContext = {
  /** Cause for new events: the event or timer being handled. The actor is the process. */
  cause: Cause;
  /** Returns the same context with another event as the cause. */
  because(event: Recorded): ProcessContext;
  /** Timers. Each keeps the cause under which it was set. */
  timers: {
    set(timer: NewTimer): Promise<void>;
    cancel(key: string, name: string): Promise<void>;
  };
  /**
   * Returns true if the read models (default: the main group) reach a log position now or within moments. If it returns false, the handler
   * must return `{ waitFor: position, of }` with the same models.
   */
  reached(position: number, of?: readonly ReadModel[]): Promise<boolean>;
  /** Number of this try to handle the event, from 1. */
  attempt: number;
  /** Aborted when this instance loses the lane, the handler runs too long, or the instance shuts down. */
  signal: AbortSignal;
};

/**
 * Things that existed in an event's workspace when the event happened; true if unknown. `furtherChannels`: an identity has or had an
 * approval channel other than one mailbox, that is, a chat or a second channel.
 */
export type Listeners = { rules: boolean; webhooks: boolean; furtherChannels: boolean };

/** A stream whose state prevents something, and the revision at which it was read. */
export type ProcessObstacle = Guard;

/**
 * Returned by a handler that cannot continue until another event happens. The event or timer, and everything behind it under its key, stays
 * queued. It is handled again after the next event under its key, or after the next event on one of these streams (installation, workspace,
 * identity or domain) that can end an obstacle (streams/obstacleEnds.ts).
 */
export type SetAside = { setAside: readonly ProcessObstacle[] };

/**
 * Returned by a handler if read models must reach a position first. The lane stays queued without occupying a worker, and is handled again
 * once they have reached it.
 */
export type WaitForModels = { waitFor: number; of?: readonly ReadModel[] };

/**
 * Returned by a handler that is to be called again after `againInMs`. This is not a failure. Everything behind the event under its key
 * waits.
 */
export type RetryLater = { againInMs: number };

/** Result of a handler that is not done yet. */
export type NotYet = SetAside | WaitForModels | RetryLater;

/** Result of a handler: undefined if it is done. */
export type HandlerResult = Promise<NotYet | undefined> | Promise<void>;

/**
 * A rule that reacts to events with commands. Events are handled at least once, in order per key and concurrently across keys, so every
 * handler must be idempotent (derived ids, expected revisions). After a takeover two instances may run a handler at the same moment; the
 * streams refuse the second effect.
 */
export type Process = {
  /** Named after the rule, for example `escalateUnanswered`. */
  name: string;
  /** Stream categories whose events the process receives. */
  categories: readonly string[];
  keyOf(event: Recorded): string;
  /** Returns false if an event is irrelevant; no handler then runs. By default every event whose type is in `on` is relevant. */
  concerns?(event: Recorded<any>, listeners: Listeners): boolean;
  /**
   * Handlers by event type. The parameter is `any` because the type's name determines the data; each handler declares its own event type.
   */
  on: { [type: string]: (event: Recorded<any>, context: ProcessContext) => HandlerResult };
  /**
   * By event type: events that are checked only after a while, because the log usually makes the check unnecessary by then. The event sets
   * a timer under its key in the transaction that plans the event; no handler is called.
   */
  later?: { [type: string]: (event: Recorded<any>) => LaterTimer };
  /**
   * "key": the handlers depend on streams only, not on the event that woke them; of several waiting events under one key only the newest is
   * then handled, and all count as done. Default: every event is handled.
   */
  looksAt?: "event" | "key";
  /**
   * Position at which a new process starts to read the log; default: the beginning. A process that notifies people starts at the end,
   * because old events are no news.
   */
  begins?: "with the log" | "now";
  /**
   * True for a process that must not act on old events, because it notifies people or outside programs without a record in the log, or
   * depends on the present configuration. When a restored database is rewound, such a process skips the events between the backup and the
   * end of the log. All others handle these events again; their streams say what is left to do.
   */
  onlyNews?: true;
  /** Seconds after which a running handler counts as failed (default 300). */
  longestRunSeconds?: number;
  /** Maximum number of handlers that run concurrently, for processes that mostly wait for other services. Default: the runner's number. */
  concurrency?: number;
  /** Maximum number of concurrent handlers for one owner, which is the part of the key before its first space. Default: no limit. */
  ownerConcurrency?: number;
  onTimer?: (timer: Timer, context: ProcessContext) => HandlerResult;
  /**
   * Treatment of an event or timer that fails too often. Default: it is parked with its error, listed, and retried by the operator (`npm
   * run processes`). "never": it is retried for ever, with growing pauses (filing). A function: the rule's last resort, which runs before
   * it is parked.
   */
  givingUp?: "never" | ((event: Recorded | Timer, given: { key: string; cause: Cause; error: Error }) => Promise<void>);
};
