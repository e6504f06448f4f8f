import { type EventStore, wholeLog } from "#src/eventStore/eventStore.ts";
import { StartError } from "#src/platform/startError.ts";
import { blobsInContent, blobsOf, contentBlobOf, deliveryOf, expiredBy } from "#streams/blobs.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { Recorded } from "#streams/event.ts";
import type { Blobs } from "./blobs.ts";
import { createMarks, type Marks } from "./marks.ts";

/** A stored blob: its hash in lower-case hex, its size in bytes. */
export type StoredBlob = { sha256: string; size: number };

/** What the sweep needs of the store beside its reading. */
export type SweptStore = {
  /** The moment 24 hours ago, by the store's own clock; opaque. */
  dayAgo(): Promise<string>;
  /** The position up to which anybody has read the log. */
  readUpTo(): Promise<number>;
  /** Some blobs that nobody has put since `before`, in the order of their hashes, from `after` (exclusive) on; none at the end. */
  untouched(before: string, after: string): Promise<StoredBlob[]>;
  /** Removes those of them that nobody has put since `before` even now, and answers which. */
  remove(hashes: readonly string[], before: string): Promise<StoredBlob[]>;
};

export type Swept = { blobs: number; bytes: number };

export type SweepOptions = {
  store: Pick<EventStore, "head" | "subscribe">;
  blobs: Pick<Blobs, "get">;
  swept: SweptStore;
  /** Removes nothing, and answers what it would remove. */
  dryRun?: boolean;
  /** Told how far the log is read, and how many events came with that. */
  onProgress?: (position: number, events: number) => void;
};

/**
 * Removes what no event names and nobody has put for 24 hours, beside a running service; what is named for expired mail alone counts as not
 * named. An event that names a blob follows its `put`, or an event that names it already; so what is neither named up to the head of now nor
 * put since yesterday will not be named again without a `put`, and that is looked at once more by the statement that removes. Answers what it
 * removed. Throws, with nothing removed, if the log or a content that it names cannot be read.
 */
export async function sweepBlobs({ store, blobs, swept, dryRun = false, onProgress }: SweepOptions): Promise<Swept> {
  const before = await swept.dayAgo();
  await requireWholeLog(store, swept);
  const expired = await expiredDeliveries(store);
  const marks = createMarks();
  for await (const { events, position } of wholeLog(store)) {
    for (const event of events) {
      // Nothing will name its content again: it is neither released nor filed once more. Another mail's event may name the same blob.
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

/** A log that ends before what was read of it is another one, or an older copy: what its lost end names would be removed. */
async function requireWholeLog(store: SweepOptions["store"], swept: SweptStore): Promise<void> {
  // In this order: what is appended meanwhile may be read meanwhile.
  const read = await swept.readUpTo();
  const head = await store.head();
  if (head < read)
    throw new StartError(
      `The event log ends at ${head}, but it was read up to ${read} before: it is another log, or an older copy. Nothing was removed.`,
    );
}

/** Their mails came before, in other streams: they have to be known first. What expires from now on is left for the next sweep. */
async function expiredDeliveries(store: SweepOptions["store"]): Promise<ReadonlySet<string>> {
  const expired = new Set<string>();
  for await (const { events } of wholeLog(store, ["filing"])) {
    for (const event of events) for (const deliveryId of expiredBy(event)) expired.add(deliveryId);
  }
  return expired;
}

async function mark(event: Recorded, { blobs, marks }: { blobs: Pick<Blobs, "get">; marks: Marks }): Promise<void> {
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
