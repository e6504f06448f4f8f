import type { Cause } from "#src/commands/handle.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** A timer of a process: one row, due once. Setting it again under the same name moves it. */
export type Timer = { key: string; name: string; dueAt: Date; payload: Record<string, unknown> };

/** A timer on its way in: one without a payload has an empty one. */
export type NewTimer = Omit<Timer, "payload"> & Partial<Pick<Timer, "payload">>;

/** What a rule acts with: for which cause, and the timers it may set. */
export type Acting = Pick<ProcessContext, "timers"> & { cause: Cause };

/** What a handler gets beside its event. Timers set or cancelled here are durable before the event counts as handled. */
export type ProcessContext = {
  timers: {
    set(timer: NewTimer): Promise<void>;
    cancel(key: string, name: string): Promise<void>;
  };
  /** 1 on the first try of this event. */
  attempt: number;
  /** Aborted when this instance loses the partition or shuts down. */
  signal: AbortSignal;
};

/** A stream, and the revision at which it was seen to stand in the way of something. */
export type Obstacle = Guard;

/**
 * A handler's answer when it cannot go on until something else happens. The event (or timer) stays where it is, and everything behind it under
 * its key; it is handed over again after the next event of any of these streams (installation, workspace, identity or domain), or of its key.
 */
export type SetAside = { setAside: readonly Obstacle[] };

/** What a handler answers: nothing if it is done. */
export type Answer = Promise<SetAside | undefined> | Promise<void>;

/**
 * A rule: events in, commands out. At-least-once, in order per key, concurrent across keys; so every handler must be idempotent
 * (derived ids, expected revisions). Handlers may run twice at the same moment on two instances after a takeover: streams do the fencing.
 */
export type Process = {
  /** Named as the rule, for example `escalateUnanswered`. */
  name: string;
  /** Stream categories it listens to. */
  categories: readonly string[];
  keyOf(event: Recorded): string;
  /** By event type. `any`: the type's name says which data it has, and each handler names it; the runner hands over whatever the log holds. */
  on: { [type: string]: (event: Recorded<any>, context: ProcessContext) => Answer };
  /** Where a new process begins (default: with the log). One that tells people of what happens begins now: old news are none. */
  begins?: "with the log" | "now";
  /**
   * It acts on what happens now, and must not on what happened long ago: it tells people or programs outside and the log does not say whom it
   * has told, or it goes by what is set up now. So it passes over what lies between a backup and the end of the log when a restored database
   * is rewound. All others look again: their streams say what is left to do.
   */
  onlyNews?: true;
  /** What it was called before, or what it was made of: it goes on where the slowest of those stood. */
  formerly?: readonly string[];
  /** A handler that has not ended after so many seconds is given up (default 300). */
  longestRunSeconds?: number;
  /** Handlers that run at once, where they mostly wait for others' answers; the runner's number by default. */
  concurrency?: number;
  onTimer?: (timer: Timer, context: ProcessContext) => Answer;
  /**
   * What happens when an event (or timer) failed too often. Default: it is parked with its error, listed and replayable
   * (`npm run processes`). "never": retried with backoff for as long as it takes (filing). A function does the rule's own
   * last resort first, then the event is parked.
   */
  givingUp?: "never" | ((event: Recorded | Timer, error: Error) => Promise<void>);
};
