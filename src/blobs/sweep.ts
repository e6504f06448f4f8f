import { type EventStore, wholeLog } from "#src/eventStore/eventStore.ts";
import { blobsInContent, blobsOf, contentBlobOf } from "#streams/blobs.ts";
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
 * Removes what no event names and nobody has put for 24 hours, beside a running service. An event that names a blob follows its `put`, or an
 * event that names it already; so what is neither named up to the head of now nor put since yesterday will not be named again without a `put`,
 * and that is looked at once more by the statement that removes. Answers what it removed. Throws, with nothing removed, if the log or a content
 * that it names cannot be read.
 */
export async function sweepBlobs({ store, blobs, swept, dryRun = false, onProgress }: SweepOptions): Promise<Swept> {
  const before = await swept.dayAgo();
  const marks = createMarks();
  for await (const { events, position } of wholeLog(store)) {
    for (const event of events) await mark(event, { blobs, marks });
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

async function mark(event: Recorded, { blobs, marks }: { blobs: Pick<Blobs, "get">; marks: Marks }): Promise<void> {
  for (const sha256 of blobsOf(event)) marks.add(sha256);
  const contentBlob = contentBlobOf(event);
  if (contentBlob === null) return;
  const bytes = await blobs.get(contentBlob);
  if (!bytes)
    throw new Error(
      `the blob ${contentBlob}, which the event at position ${event.position} names, is missing: put it back from a backup first`,
    );
  for (const sha256 of blobsInContent(JSON.parse(bytes.toString()) as DraftContent)) marks.add(sha256);
}
