import { LRUCache } from "lru-cache";
import type { Blobs } from "./blobs.ts";

/** Bytes in memory, in total. */
const mostBytes = 4 * 1024 * 1024;
/** Bytes that a cached blob takes besides its content: a mail may have a hundred tiny attachments. */
const besideBytes = 512;
/** Size above which a blob is not cached: a few would leave no room for others. */
const largestBytes = 128 * 1024;
/** Milliseconds for which a stored blob is cached. */
const usualMs = 30_000;

/**
 * Caches blobs for a moment after they were stored, to save fetching them again: a mail is read right after it arrived, once to be shown
 * and once or twice for its signatures. The key is the hash alone, as in the store: a caller has the hash from an event of their own. Only
 * bytes that the store has accepted and hashed are cached; each caller gets a copy.
 */
export function rememberingBlobs(blobs: Blobs, { recentMs = usualMs }: { recentMs?: number } = {}): Blobs {
  const recent = new LRUCache<string, Buffer>({
    maxSize: mostBytes,
    sizeCalculation: (bytes) => bytes.length + besideBytes,
    ttl: recentMs,
    ttlAutopurge: true,
  });

  return {
    ...blobs,
    async put(bytes, sha256) {
      if (sha256 !== undefined || bytes.length > largestBytes) return blobs.put(bytes, sha256);
      // The caller may change its bytes meanwhile; and the copy retains no larger buffer.
      const stored = Buffer.allocUnsafeSlow(bytes.length);
      bytes.copy(stored);
      const hash = await blobs.put(stored);
      recent.set(hash, stored);
      return hash;
    },
    async get(sha256) {
      const known = recent.get(sha256);
      return known ? Buffer.from(known) : blobs.get(sha256);
    },
  };
}
