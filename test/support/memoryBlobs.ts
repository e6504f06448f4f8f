import { createHash } from "node:crypto";
import type { Blobs } from "#src/platform/blobs/blobs.ts";

/** Stores contents by their sha256 in this map. */
export function memoryBlobs(kept = new Map<string, Buffer>()): Blobs {
  return {
    async put(bytes) {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      kept.set(sha256, bytes);
      return sha256;
    },
    get: async (sha256) => kept.get(sha256),
    size: async (sha256) => kept.get(sha256)?.length,
    part: async (sha256, { from, count }) => kept.get(sha256)?.subarray(from, from + count),
  };
}
