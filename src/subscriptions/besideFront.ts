import type { Batch } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import { concernedBy, type Place, writeBatch } from "./checkpoints.ts";
import type { Interval, Pace } from "./pace.ts";

/** Milliseconds for which a checkpoint that has only to be moved waits for the front's next batch to move it along. */
const aloneAfterMs = 50;

/** How often it is written while there is much to write: only who asks it waits for it, and one more event in a batch costs little. */
export const besideFrontEvery: Interval = { timesTaken: 0, leastMs: 100, mostMs: 100 };

/** Events that may wait for a read model that is written beside the others; one that falls further behind reads by itself. */
const mostWaiting = 2_000;

/**
 * A read model that follows the front and is written in transactions of its own, so that nobody waits for it. What comes while one is under way,
 * or before the next may go out, goes into that together.
 */
export type Beside = {
  /** Neither what waits for it nor a batch has anything for it: its checkpoint may move with the front's, which the caller does at once. */
  mayMoveWith(batch: Batch): boolean;
  /** Takes a batch that the front has written. */
  take(batch: Batch): void;
  /** Resolves when nothing is being written any more. It takes nothing after this. */
  leave(): Promise<void>;
};

type Options = {
  database: Database;
  place: Place;
  /** When its next batch may go out. */
  pace: Pick<Pace, "next">;
  /** Told after each commit. */
  onMoved: () => void;
  /** Told once, when it cannot follow any more: it failed, or is too far behind. */
  onLost: () => void;
};

/** Lets a read model follow the front. Its place is not behind the front's. */
export function followBeside({ database, place, pace, onMoved, onLost }: Options): Beside {
  let state: "following" | "lost" | "left" = "following";
  /** What the front has written and this one has not, with its own events alone. */
  let waiting: Batch[] = [];
  let events = 0;
  let writing: Promise<void> | undefined;
  /** Running while what waits has nothing for it: then its checkpoint moves with the front's next batch, or alone if that does not come. */
  let alone: NodeJS.Timeout | undefined;

  async function write(): Promise<void> {
    do {
      await pace.next();
      if (state !== "following") break;
      const batch = joined(waiting);
      waiting = [];
      events = 0;
      try {
        await writeBatch(database, [place], batch);
      } catch {
        // A reader for it alone meets the same, says so and tries again.
        state = "lost";
        break;
      }
      onMoved();
    } while (state === "following" && events > 0);
    writing = undefined;
    if (state === "lost") onLost();
    else writeWhenAlone();
  }

  function writeWhenAlone(): void {
    if (state !== "following" || waiting.length === 0) return;
    alone ??= setTimeout(writeNow, aloneAfterMs);
  }

  function writeNow(): void {
    stopTimer();
    writing ??= write();
  }

  function stopTimer(): void {
    clearTimeout(alone);
    alone = undefined;
  }

  return {
    mayMoveWith(batch) {
      if (state !== "following" || writing || events > 0 || concernedBy(place, batch)) return false;
      stopTimer();
      return true;
    },
    take(batch) {
      if (state !== "following") return;
      if (batch.position <= place.position) {
        waiting = [];
        return;
      }
      const own = batch.events.filter(({ type }) => place.projection.handles.includes(type));
      waiting.push({ ...batch, events: own });
      events += own.length;
      if (events > mostWaiting) state = "lost";
      if (events > 0) writeNow();
      else if (!writing) writeWhenAlone();
    },
    async leave() {
      if (state === "following") state = "left";
      stopTimer();
      await writing;
    },
  };
}

const joined = (batches: readonly Batch[]): Batch => ({
  ...batches.at(-1)!,
  events: batches.flatMap(({ events }) => events),
});
