import { categoryOf, type Recorded } from "#streams/event.ts";
import type { Page, PageRequest, Reader } from "./reader.ts";

type Chunk = Page;

/** What is kept: enough for followers that are moments apart, little enough to be kept always. */
const maxEvents = 1_000;
const maxBytes = 8_000_000;

/**
 * The newest stretch of the log, read once for all who follow it: each process and the read models have a subscription of their own, and
 * without this every commit would be read and parsed by each. A reader that is further behind reads for itself.
 */
export function createRecent(reader: Pick<Reader, "page">): Pick<Reader, "page"> {
  let chunks: Chunk[] = [];
  /** The kept stretch: after `from`, up to `to`. */
  let from = 0;
  let to = 0;
  let extending: Promise<void> | undefined;

  async function extend(upTo: number): Promise<void> {
    const page = await reader.page({ after: to, upTo, categories: undefined, limit: maxEvents });
    chunks.push(page);
    to = page.position;
    while (chunks.length > 1 && tooMuch()) from = chunks.shift()!.position;
  }

  const tooMuch = (): boolean =>
    sum(chunks, ({ events }) => events.length) > maxEvents || sum(chunks, ({ bytes }) => bytes) > maxBytes;

  function beginAt(position: number): void {
    chunks = [];
    from = position;
    to = position;
  }

  function kept({ after, upTo, categories, limit }: PageRequest): Page {
    const wanted = (event: Recorded): boolean =>
      event.position > after &&
      event.position <= upTo &&
      (categories === undefined || categories.includes(categoryOf(event.stream)));
    const events = chunks.flatMap((chunk) => (chunk.position > after ? chunk.events.filter(wanted) : []));
    const page = events.slice(0, limit);
    const cut = events.length >= limit;
    return { events: page, position: cut ? page.at(-1)!.position : Math.min(to, upTo), bytes: 0 };
  }

  return {
    async page(request) {
      const { after, upTo } = request;
      if (upTo - after > maxEvents) return reader.page(request);
      while (to < upTo) {
        if (to < after && !extending) beginAt(after);
        extending ??= extend(upTo).finally(() => {
          extending = undefined;
        });
        await extending;
        if (from > after) break;
      }
      return from > after ? reader.page(request) : kept(request);
    },
  };
}

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0);
