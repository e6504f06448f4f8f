/**
 * Large things by content hash: raw MIME, attachments, bodies over the event limit. Writing the same bytes twice keeps one.
 * A blob is durable when `put` resolves, and stays for 24 hours from then even if no event names it (sweep.ts).
 * All throw Unavailable (src/eventStore/eventStore.ts) when storage is away.
 */
export type Blobs = {
  /** Stores the bytes and answers their sha256 (lower-case hex). `sha256`: of these bytes, where it was computed already. */
  put(bytes: Buffer, sha256?: string): Promise<string>;
  /** The bytes, checked against their hash; undefined if there is no such blob; throws BlobCorrupt if they do not match. */
  get(sha256: string): Promise<Buffer | undefined>;
  /** How many bytes it has, without reading them; undefined if there is no such blob. */
  size(sha256: string): Promise<number | undefined>;
  /** At most `count` of its bytes, from the one at `from`, without reading the others and so not checked against the hash; undefined if there is no such blob. */
  part(sha256: string, range: { from: number; count: number }): Promise<Buffer | undefined>;
};

export class BlobCorrupt extends Error {
  override readonly name = "BlobCorrupt";
}
