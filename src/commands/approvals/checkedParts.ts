import { createHash } from "node:crypto";
import { BlobCorrupt, type Blobs } from "#src/platform/blobs/blobs.ts";

const partBytes = 512 * 1024;

/**
 * A blob's bytes one part after the other, so that a large one is never in memory as a whole, however many fetch it and however slowly. The
 * last part comes only once all of them match the hash: what is damaged is never complete. Throws BlobCorrupt then, and an Error where
 * the blob is gone.
 */
export async function* checkedParts(
  blobs: Pick<Blobs, "part">,
  { sha256, size, count = partBytes }: { sha256: string; size: number; count?: number },
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let held: Buffer | undefined;
  for (let from = 0; from < size; from += count) {
    const part = await blobs.part(sha256, { from, count });
    if (part === undefined) throw new Error(`the blob ${sha256} is missing`);
    hash.update(part);
    if (held) yield held;
    held = part;
  }
  const actual = hash.digest("hex");
  if (actual !== sha256) throw new BlobCorrupt(`the blob ${sha256} holds other bytes: their hash is ${actual}`);
  if (held) yield held;
}
