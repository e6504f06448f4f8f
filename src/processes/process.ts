import type { ReadModel } from "#projections/names.ts";
import type { Cause } from "#src/commands/handle.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** A timer of a process: one row, due once. Setting it again under the same name moves it. */
export type Timer = { key: string; name: string; dueAt: Date; payload: Record<string, unknown> };

/**
 * A timer on its way in, due at a time or so many milliseconds from now: one without a payload has an empty one. `orWhen`: it is due at once when this
 * resolves. An instance that ends before has forgotten it, and the time alone counts.
 */
export type NewTimer = Pick<Timer, "key" | "name"> &
  Partial<Pick<Timer, "payload">> & { orWhen?: Promise<unknown> | undefined } & ({ dueAt: Date } | { inMs: number });

/** A timer under the key of the event that sets it. */
export type LaterTimer = Pick<Timer, "name"> & Partial<Pick<Timer, "payload">> & { inMs: number };

/** What a rule acts with: for which cause, and the timers it may set. */
export type Acting = Pick<ProcessContext, "timers" | "cause">;

/** What a handler gets beside its event. Timers set or cancelled here are durable before the event counts as handled. */
export type ProcessContext = {
  /** Why it acts: because of the event, or of what the timer was set for. The actor is the process. */
  cause: Cause;
  /** The same, because of another event than the one it is told of. */
  because(event: Recorded): ProcessContext;
  /** Timers carry the cause they were set for. */
  timers: {
    set(timer: NewTimer): Promise<void>;
    cancel(key: string, name: string): Promise<void>;
  };
  /**
   * Whether the read models that it is about to ask (default: all that are served together) have reached a position of the log, now or within
   * moments. If not, the answer is `{ waitFor: position }`, of the same.
   */
  reached(position: number, of?: readonly ReadModel[]): Promise<boolean>;
  /** 1 on the first try of this event. */
  attempt: number;
  /** Aborted when this instance loses the partition or shuts down. */
  signal: AbortSignal;
};

/**
 * What there was in an event's workspace when it happened. Each may be true where that is not known. `furtherChannels`: an identity asks, or has asked
 * before, for approval elsewhere than in one mailbox: in a chat, or through a second channel.
 */
export type Listeners = { rules: boolean; webhooks: boolean; furtherChannels: boolean };

/** A stream, and the revision at which it was seen to prevent something. */
export type Obstacle = Guard;

/**
 * A handler's answer when it cannot go on until something else happens. The event (or timer) stays where it is, and everything behind it under
 * its key. It is handed over again after the next event of its key, or the next that can end an obstacle (streams/obstacleEnds.ts) in one of these
 * streams: of the installation, a workspace, an identity or a domain.
 */
export type SetAside = { setAside: readonly Obstacle[] };

/** A handler's answer when read models have to reach a position first. Everything waits as it is, without a place at work, and is handed over again then. */
export type WaitFor = { waitFor: number; of?: readonly ReadModel[] };

/** A handler's answer when it is to be asked again in so many milliseconds. It is no failure; everything behind it under its key waits. */
export type Again = { againInMs: number };

/** Why a handler is not done yet. */
export type NotYet = SetAside | WaitFor | Again;

/** What a handler answers: nothing if it is done. */
export type Answer = Promise<NotYet | undefined> | Promise<void>;

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
  /** False where an event asks nothing of it: then nothing is planned, and no handler is woken. By default every event of a type in `on` does. */
  concerns?(event: Recorded<any>, listeners: Listeners): boolean;
  /** By event type. `any`: the type's name says which data it has, and each handler names it; the runner hands over whatever the log holds. */
  on: { [type: string]: (event: Recorded<any>, context: ProcessContext) => Answer };
  /**
   * By event type: events that are looked at later, because by then the log usually holds what they ask for. Each sets a timer under its key, in the
   * transaction that plans it, and no handler is called for it.
   */
  later?: { [type: string]: (event: Recorded<any>) => LaterTimer };
  /**
   * "key": what its handlers do depends on streams alone, whichever event woke them. Of those that wait under one key only the newest is
   * handed over, and the others are done with it. By default each is.
   */
  looksAt?: "event" | "key";
  /** Where a new process begins (default: with the log). One that tells people of what happens begins now: old news are none. */
  begins?: "with the log" | "now";
  /**
   * It acts on what happens now, and must not on what happened long ago: it tells people or programs outside and the log does not say whom it
   * has told, or it goes by what is set up now. So it passes over what lies between a backup and the end of the log when a restored database
   * is rewound. All others look again: their streams say what is left to do.
   */
  onlyNews?: true;
  /** A handler that has not ended after so many seconds is given up (default 300). */
  longestRunSeconds?: number;
  /** Handlers that run at once, where they mostly wait for others' answers; the runner's number by default. */
  concurrency?: number;
  /** Of those, so many at most for one owner: what its keys begin with, up to the first space. By default any number. */
  ownerConcurrency?: number;
  onTimer?: (timer: Timer, context: ProcessContext) => Answer;
  /**
   * What happens when an event (or timer) failed too often. Default: it is parked with its error, listed and replayable
   * (`npm run processes`). "never": retried with backoff for as long as it takes (filing). A function does the rule's own
   * last resort first, then the event is parked.
   */
  givingUp?: "never" | ((event: Recorded | Timer, given: { key: string; cause: Cause; error: Error }) => Promise<void>);
};
