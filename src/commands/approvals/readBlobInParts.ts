import { createHash } from "node:crypto";
import { BlobCorrupt, type Blobs } from "#src/platform/blobs/blobs.ts";

const partBytes = 512 * 1024;

/**
 * Yields a blob's bytes in parts, so that a large blob is never in memory as a whole, however many clients fetch it and however slowly. The
 * last part is yielded only after the hash of all bytes was checked, so no client gets a complete damaged blob. Throws BlobCorrupt if the
 * hash differs, and an Error if the blob is missing.
 */
export async function* readBlobInParts(
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
