import { LRUCache } from "lru-cache";
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
  const states = new LRUCache<string, Folded>({
    maxSize: mostBytes,
    maxEntrySize: Math.floor(mostBytes / largestShare),
    sizeCalculation: (folded, stream) => perEntry + stream.length + sizeOf(folded),
  });

  return {
    get: (stream) => states.get(stream),
    put(stream, folded) {
      const known = states.peek(stream);
      if (!known || known.revision <= folded.revision) states.set(stream, folded);
    },
    bytes: () => states.calculatedSize,
  };
}
