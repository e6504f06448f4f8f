import { LRUCache } from "lru-cache";
import { type FoldedState, sizeOf } from "./foldState.ts";

/** Estimated bytes per cache entry in addition to its state. */
const perEntry = 512;

/**
 * A state larger than the cache size divided by this number is not cached, because it would evict all others. Such a state is loaded from
 * its snapshot for every command.
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
 * Creates a cache of the folded states of recently used streams, limited in bytes. An outdated entry does no harm, because appends check
 * its revision and a load reads newer events.
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
