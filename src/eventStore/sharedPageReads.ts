import { LRUCache } from "lru-cache";
import type { Batch } from "./eventStore.ts";

/** Pages cached at most, to bound memory: an adapter bounds each in bytes. */
const mostPages = 4;

export type SharedPages = {
  page(after: number): Promise<Batch>;
  /** Drops cached pages of a log that was replaced. */
  forget(): void;
};

/**
 * Lets readers at the same position of the log share one read of the next page. A page that does not end at the log's end never changes, so
 * the newest few of these are cached for slower readers; one that reached the end is shared only while it is read.
 */
export function sharePageReads(read: (after: number) => Promise<Batch>): SharedPages {
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
