import { type Folded, sizeOf } from "./folded.ts";

/** What an entry takes beside its state. */
const perEntry = 512;

/**
 * A state that takes more than one in so many parts of the cache is not kept: it would cost all others their place. One that is not kept is made
 * anew for every command, from a snapshot as large.
 */
const largestShare = 2;

export type StateCache = {
  get(stream: string): Folded | undefined;
  /** Keeps it in the place of an earlier one; a later one stays. */
  put(stream: string, folded: Folded): void;
  /** What is kept, in bytes. */
  bytes(): number;
};

/**
 * Folded states of the streams used last, up to so many bytes. A stale entry does no harm: appends carry the revision it was folded at, and
 * a load reads what is newer.
 */
export function createStateCache(mostBytes: number): StateCache {
  const entries = new Map<string, { folded: Folded; bytes: number }>();
  let total = 0;

  function remove(stream: string): void {
    total -= entries.get(stream)?.bytes ?? 0;
    entries.delete(stream);
  }

  return {
    get: (stream) => entries.get(stream)?.folded,
    put(stream, folded) {
      const known = entries.get(stream);
      if (known && known.folded.revision > folded.revision) return;
      remove(stream);
      const bytes = perEntry + stream.length + sizeOf(folded);
      if (bytes > mostBytes / largestShare) return;
      entries.set(stream, { folded, bytes });
      total += bytes;
      for (const [oldest] of entries) {
        if (total <= mostBytes) break;
        remove(oldest);
      }
    },
    bytes: () => total,
  };
}
