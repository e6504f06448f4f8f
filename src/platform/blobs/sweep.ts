import { type EventStore, readWholeLog } from "#src/eventStore/eventStore.ts";
import { StartError } from "#src/platform/startError.ts";
import { blobsInContent, blobsOf, contentBlobOf, deliveriesExpiredBy, deliveryOf } from "#streams/blobs.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { Recorded } from "#streams/event.ts";
import type { Blobs } from "./blobs.ts";
import { type BlobMarks, createMarks } from "./marks.ts";

/** A stored blob: its hash in lower-case hex, its size in bytes. */
export type StoredBlob = { sha256: string; size: number };

/** Operations of the blob store that only the sweep uses. */
export type SweptStore = {
  /** Returns the moment 24 hours ago by the store's own clock, as an opaque value. */
  dayAgo(): Promise<string>;
  /** Returns the highest position up to which any reader has read the log. */
  readUpTo(): Promise<number>;
  /** Returns some blobs that were not put since `before`, in the order of their hashes, after `after` (exclusive); none at the end. */
  untouched(before: string, after: string): Promise<StoredBlob[]>;
  /** Removes the blobs that still have not been put since `before`, and returns them. */
  remove(hashes: readonly string[], before: string): Promise<StoredBlob[]>;
};

export type Swept = { blobs: number; bytes: number };

export type SweepOptions = {
  store: Pick<EventStore, "head" | "subscribe">;
  blobs: Pick<Blobs, "get">;
  swept: SweptStore;
  /** True: removes nothing, and returns what would be removed. */
  dryRun?: boolean;
  /** Called with the position up to which the log is read, and the number of events read. */
  onProgress?: (position: number, events: number) => void;
};

/**
 * Removes blobs that no event names and that were not put for 24 hours, while the service runs. A blob named only for expired mail counts
 * as not named. An event that names a blob follows its `put`, or an event that names it already. So a blob that is neither named up to the
 * current head nor put since yesterday will not be named again without a `put`, and the statement that removes checks that once more.
 * Returns what it removed. Throws, with nothing removed, if the log or a content that it names cannot be read.
 */
export async function sweepBlobs({ store, blobs, swept, dryRun = false, onProgress }: SweepOptions): Promise<Swept> {
  const before = await swept.dayAgo();
  await requireWholeLog(store, swept);
  const expired = await expiredDeliveries(store);
  const marks = createMarks();
  for await (const { events, position } of readWholeLog(store)) {
    for (const event of events) {
      // The content of an expired mail is never named again: the mail is neither released nor filed. Another mail's event may name the same
      // blob.
      if (!expired.has(deliveryOf(event) ?? "")) await mark(event, { blobs, marks });
    }
    onProgress?.(position, events.length);
  }
  const removed: Swept = { blobs: 0, bytes: 0 };
  for (let after = ""; ; ) {
    const page = await swept.untouched(before, after);
    const last = page.at(-1);
    if (!last) return removed;
    after = last.sha256;
    const unnamed = page.filter(({ sha256 }) => !marks.has(sha256));
    const gone = await removeAll(unnamed);
    removed.blobs += gone.length;
    removed.bytes += gone.reduce((sum, { size }) => sum + size, 0);
  }

  async function removeAll(unnamed: readonly StoredBlob[]): Promise<readonly StoredBlob[]> {
    if (dryRun || unnamed.length === 0) return unnamed;
    return swept.remove(
      unnamed.map(({ sha256 }) => sha256),
      before,
    );
  }
}

/**
 * Refuses a log that ends before a position already read: it is another log, or an older copy, and blobs named by its missing end would be
 * removed.
 */
async function requireWholeLog(store: SweepOptions["store"], swept: SweptStore): Promise<void> {
  // Reads the swept position before the head, because more events may be appended and swept in between.
  const read = await swept.readUpTo();
  const head = await store.head();
  if (head < read)
    throw new StartError(
      `The event log ends at ${head}, but it was read up to ${read} before: it is another log, or an older copy. Nothing was removed.`,
    );
}

/**
 * Returns the ids of expired deliveries. They are named by earlier events of other streams, so they must be known first. Mail that expires
 * later is left for the next sweep.
 */
async function expiredDeliveries(store: SweepOptions["store"]): Promise<ReadonlySet<string>> {
  const expired = new Set<string>();
  for await (const { events } of readWholeLog(store, ["filing"])) {
    for (const event of events) for (const deliveryId of deliveriesExpiredBy(event)) expired.add(deliveryId);
  }
  return expired;
}

async function mark(event: Recorded, { blobs, marks }: { blobs: Pick<Blobs, "get">; marks: BlobMarks }): Promise<void> {
  for (const sha256 of blobsOf(event)) marks.add(sha256);
  const contentBlob = contentBlobOf(event);
  if (contentBlob === null) return;
  const bytes = await blobs.get(contentBlob);
  if (!bytes)
    throw new StartError(
      `The blob ${contentBlob}, which the event at position ${event.position} names, is missing: put it back from a backup first. Nothing was removed.`,
    );
  for (const sha256 of blobsInContent(JSON.parse(bytes.toString()) as DraftContent)) marks.add(sha256);
}
