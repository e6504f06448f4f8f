/**
 * Large things by content hash: raw MIME, attachments, bodies over the event limit. Writing the same bytes twice keeps one.
 * A blob is durable when `put` resolves. Both throw Unavailable (src/eventStore/eventStore.ts) when storage is away.
 */
export type Blobs = {
  /** Stores the bytes and answers their sha256 (lower-case hex). */
  put(bytes: Buffer): Promise<string>;
  /** The bytes, checked against their hash; undefined where there is no such blob; throws BlobCorrupt where they do not match. */
  get(sha256: string): Promise<Buffer | undefined>;
};

export class BlobCorrupt extends Error {
  override readonly name = "BlobCorrupt";
}
