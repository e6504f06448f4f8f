import { LRUCache } from "lru-cache";
import type { Blobs } from "./blobs.ts";

/** Bytes in memory, all together. */
const mostBytes = 4 * 1024 * 1024;
/** What a blob takes beside its bytes: a mail may have a hundred attachments of some bytes. */
const besideBytes = 512;
/** A larger blob is not kept: a few of them would leave no room for others. */
const largestBytes = 128 * 1024;
/** Milliseconds for which what was stored is remembered. */
const usualMs = 30_000;

/**
 * Remembers for a moment what was stored here, so that it need not be fetched again: a mail is read right after it came in, once to be shown
 * and once or twice for its signatures. Known by its hash alone, as in the store: a caller has the hash from an event of their own.
 * Only what the store has taken and hashed itself is remembered, as it was then; each caller gets a copy.
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
      // Whose bytes they are may change them meanwhile; and the copy holds no memory beside its own.
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
