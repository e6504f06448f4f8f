import { type EventStoreDBClient, type Position, type ResolvedEvent, streamNameFilter } from "@eventstore/db-client";
import { toPosition } from "./events.ts";
import { NoAnswer } from "./failures.ts";

/** The log is searched in windows of this many records; the default of 32 makes long stretches of others' events slow. */
const searchWindow = 1000;
/** Events held here for the consumer, beyond the 32 that the server holds before it ends a subscription. */
const bufferedEvents = 128;

/** One catch-up subscription as something to take events from. It ends often, and never begins again by itself. */
export type Feed = {
  /** Resolves when there may be something to take, when it failed, was woken, or after `ms`. */
  wait(ms: number): Promise<void>;
  wake(): void;
  /** At most `max` events that have come, in order. */
  take(max: number): ResolvedEvent[];
  /** Nothing has come that was not taken. */
  drained(): boolean;
  /** How far the server says it searched. It runs ahead of what was taken: of use only while `drained`. */
  searched(): number;
  failure(): unknown;
  close(): void;
};

/** Does the filter of such a feed let a stream through? */
export const passes = (stream: string, categories?: readonly string[]): boolean =>
  categories ? categories.some((category) => stream.startsWith(`${category}-`)) : !stream.startsWith("$");

/** Subscribes to the whole log after `position`, filtered by the server. */
export function openFeed(client: EventStoreDBClient, position: number, categories?: readonly string[]): Feed {
  let searched = 0;
  let failure: unknown;
  let drained = true;
  let wake = (): void => {};

  const settings = {
    maxSearchWindow: searchWindow,
    checkpointInterval: 1,
    checkpointReached: (_: unknown, { commit, prepare }: Position): void => {
      // Must not throw: that would hang the subscription for ever.
      if (commit === prepare && commit <= Number.MAX_SAFE_INTEGER) searched = Number(commit);
    },
  };
  const filter = categories
    ? streamNameFilter({ prefixes: categories.map((category) => `${category}-`), ...settings })
    : streamNameFilter({ regex: "^[^$]", ...settings });
  const fromPosition = toPosition(position);
  const subscription = client.subscribeToAll({ fromPosition, filter }, { highWaterMark: bufferedEvents });
  const end = (error: unknown): void => {
    failure ??= error;
    wake();
  };
  subscription.on("readable", () => {
    drained = false;
    wake();
  });
  subscription.on("error", end);
  subscription.on("end", () => end(new NoAnswer("the subscription ended")));
  subscription.on("close", () => end(new NoAnswer("the subscription was closed")));

  return {
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        if (!drained || failure) wake();
      }),
    wake: () => wake(),
    take(max) {
      const taken: ResolvedEvent[] = [];
      while (taken.length < max) {
        const event: ResolvedEvent | null = subscription.read();
        drained = event === null;
        if (!event) break;
        taken.push(event);
      }
      return taken;
    },
    drained: () => drained || subscription.readableLength === 0,
    searched: () => searched,
    failure: () => failure,
    close() {
      subscription.unsubscribe().catch(() => undefined);
      subscription.destroy();
    },
  };
}
