import { LRUCache } from "lru-cache";
import type { Batch } from "./eventStore.ts";

/** Bounds the memory that kept pages take: an adapter bounds each in bytes. */
const mostPages = 4;

export type SharedPages = {
  page(after: number): Promise<Batch>;
  /** Drops what is kept of a log that was replaced. */
  forget(): void;
};

/**
 * Lets loops that are at the same position of the log share one read of the page after it. A page that ended before the log did would be read again
 * just the same, so the newest few of these are kept for the loops that come behind; one that reached the end is shared only while it is read.
 */
export function sharingPages(read: (after: number) => Promise<Batch>): SharedPages {
  const pages = new LRUCache<number, Promise<Batch>>({ max: mostPages });

  async function readPage(after: number): Promise<Batch> {
    let isFinal = false;
    try {
      const page = await read(after);
      isFinal = !page.caughtUp;
      return page;
    } finally {
      if (!isFinal) pages.delete(after);
    }
  }

  return {
    page(after) {
      const known = pages.get(after);
      if (known) return known;
      const page = readPage(after);
      pages.set(after, page);
      return page;
    },
    forget: () => pages.clear(),
  };
}
