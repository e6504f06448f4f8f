import { LRUCache } from "lru-cache";
import { type FoldedState, sizeOf } from "./foldState.ts";

/** Bytes that an entry takes besides its state. */
const perEntry = 512;

/**
 * States larger than this fraction of the cache are not kept, because they would evict all others. Such a state is loaded for
 * every command, from a snapshot of that size.
 */
const largestShare = 2;

export type StateCache = {
  get(stream: string): FoldedState | undefined;
  /** Stores a state, unless the cached one is newer. */
  put(stream: string, folded: FoldedState): void;
  /** Returns the size of all cached states in bytes. */
  bytes(): number;
};

/**
 * Cache of folded states of recently used streams, limited in bytes. A stale entry does no harm: appends check the revision it was
 * folded at, and a load reads newer events.
 */
export function createStateCache(mostBytes: number): StateCache {
  const states = new LRUCache<string, FoldedState>({
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
