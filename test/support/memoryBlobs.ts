import { createHash } from "node:crypto";
import type { Blobs } from "#src/blobs/blobs.ts";

export function memoryBlobs(): Blobs {
  const kept = new Map<string, Buffer>();
  return {
    async put(bytes) {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      kept.set(sha256, bytes);
      return sha256;
    },
    get: async (sha256) => kept.get(sha256),
    size: async (sha256) => kept.get(sha256)?.length,
  };
}
