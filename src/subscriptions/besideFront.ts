import type { Batch } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import { concernedBy, type Place, writeBatch } from "./checkpoints.ts";

/** Events that may wait for a read model that is written beside the others; one that falls further behind reads by itself. */
const mostWaiting = 2_000;

/**
 * A read model that follows the front and is written in transactions of its own, so that nobody waits for it. What comes while one is under way
 * goes into the next together.
 */
export type Beside = {
  /** It is where the front is, and a batch has nothing for it: its checkpoint may move with the front's. */
  mayMoveWith(batch: Batch): boolean;
  /** Takes a batch that the front has written. */
  take(batch: Batch): void;
  /** Resolves when nothing is being written any more. It takes nothing after this. */
  leave(): Promise<void>;
};

type Options = {
  database: Database;
  place: Place;
  /** Told after each commit. */
  onMoved: () => void;
  /** Told once, when it cannot follow any more: it failed, or is too far behind. */
  onLost: () => void;
};

/** Lets a read model follow the front. Its place is not behind the front's. */
export function followBeside({ database, place, onMoved, onLost }: Options): Beside {
  let waiting: Batch[] = [];
  let events = 0;
  let state: "following" | "lost" | "left" = "following";
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    while (state === "following" && waiting.length > 0) {
      const batch = joined(waiting);
      waiting = [];
      events = 0;
      try {
        await writeBatch(database, [place], batch);
      } catch {
        // Whoever reads for it alone meets the same, says so and tries again.
        state = "lost";
        break;
      }
      onMoved();
    }
    writing = undefined;
    if (state === "lost") onLost();
  }

  return {
    mayMoveWith: (batch) => state === "following" && !writing && !concernedBy(place, batch),
    take(batch) {
      if (state !== "following" || batch.position <= place.position) return;
      const own = batch.events.filter(({ type }) => place.projection.handles.includes(type));
      waiting.push({ ...batch, events: own });
      events += own.length;
      if (events > mostWaiting) state = "lost";
      writing ??= write();
    },
    async leave() {
      if (state === "following") state = "left";
      await writing;
    },
  };
}

const joined = (batches: readonly Batch[]): Batch => ({
  ...batches.at(-1)!,
  events: batches.flatMap(({ events }) => events),
});
