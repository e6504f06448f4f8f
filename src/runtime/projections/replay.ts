import { type Batch, type EventStore, Unavailable } from "#src/eventStore/eventStore.ts";

/** Returns the arguments of the advisory lock that is held while the read model that an SQL expression names is rebuilt. */
export const rebuildLock = (name: string): string => `727276, hashtext(${name})`;

export type ReplayOptions = {
  store: EventStore;
  signal: AbortSignal;
  /** Called after each batch with the position of the replay. */
  onProgress?: (position: number, events: number) => void;
};

const batchSize = 1000;

/** Yields every batch of the log after a position, up to `end` and cut off exactly there. Throws if the log ends before. */
export async function* batchesUpTo(
  { store, signal, onProgress }: ReplayOptions,
  { after, end }: { after: number; end: number },
): AsyncGenerator<Batch> {
  if (after >= end) return;
  if ((await store.head()) < end)
    throw new Error(`the log ends before position ${end}: it is not the log of these tables`);
  for await (const batch of store.subscribe({ after, batchSize, signal })) {
    const position = Math.min(batch.position, end);
    const events = batch.events.filter((event) => event.position <= end);
    yield { events, position, caughtUp: batch.caughtUp };
    onProgress?.(position, events.length);
    if (position === end) return;
  }
  signal.throwIfAborted();
  throw new Unavailable(`the event log was read only up to a position before ${end}`);
}
