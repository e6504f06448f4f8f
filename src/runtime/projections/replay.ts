import type { Batch, EventStore } from "#src/eventStore/eventStore.ts";

/** Returns the arguments of the advisory lock that is held while the read model that an SQL expression names is rebuilt. */
export const rebuildLock = (name: string): string => `727276, hashtext(${name})`;

export type ReplayOptions = {
  store: EventStore;
  signal: AbortSignal;
  /** Called after each batch with the position of the replay. */
  onProgress?: (position: number, events: number) => void;
};

const batchSize = 1000;

/** Passes every batch after the progress, up to a position of the log and cut off exactly there, to `write`, and advances the progress. */
export async function replayUpTo(
  { store, signal, onProgress }: ReplayOptions,
  { progress, end }: { progress: { position: number }; end: number },
  write: (batch: Batch) => Promise<void>,
): Promise<void> {
  if (progress.position >= end) return;
  if ((await store.head()) < end)
    throw new Error(`the log ends before position ${end}: it is not the log of these tables`);
  for await (const batch of store.subscribe({ after: progress.position, batchSize, signal })) {
    const position = Math.min(batch.position, end);
    const events = batch.events.filter((event) => event.position <= end);
    await write({ events, position, caughtUp: batch.caughtUp });
    progress.position = position;
    onProgress?.(position, events.length);
    if (position === end) return;
  }
  signal.throwIfAborted();
}
