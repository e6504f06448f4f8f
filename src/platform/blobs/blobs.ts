/**
 * Large content by its hash: raw MIME, attachments, bodies over the event limit. Writing the same bytes twice stores them once. A blob is
 * durable when `put` resolves, and is kept for 24 hours from then even if no event names it (sweep.ts). All methods throw Unavailable
 * (src/eventStore/eventStore.ts) during an outage.
 */
export type Blobs = {
  /** Stores the bytes and returns their sha256 (lower-case hex). `sha256`: their hash, if already computed. */
  put(bytes: Buffer, sha256?: string): Promise<string>;
  /** Returns the bytes, checked against their hash; undefined if there is no such blob. Throws BlobCorrupt if they do not match. */
  get(sha256: string): Promise<Buffer | undefined>;
  /** Returns its size in bytes, without reading them; undefined if there is no such blob. */
  size(sha256: string): Promise<number | undefined>;
  /**
   * Returns at most `count` of its bytes, starting at `from`, without reading the others and so without checking the hash; undefined if
   * there is no such blob.
   */
  part(sha256: string, range: { from: number; count: number }): Promise<Buffer | undefined>;
};

export class BlobCorrupt extends Error {
  override readonly name = "BlobCorrupt";
}
