import type { EventStore } from "#src/eventStore/eventStore.ts";

/** Events of a stream read at once. */
const page = { events: 500, bytes: 2_000_000 };

/** Largest difference between the clocks of instances, in milliseconds. */
const clocksDifferMs = 3_600_000;

/**
 * True if a stream has an event with this mark (Cause.operation). Searches backwards from the end, because the effect of a repeated
 * operation is recent; stops at the start of the operation if known (`begunAt`, ISO 8601 UTC). `revision`: the stream's newest.
 */
export async function hasEffectMark(
  store: Pick<EventStore, "readPage">,
  { stream, revision }: { stream: string; revision: number },
  { mark, begunAt }: { mark: string; begunAt: string | undefined },
): Promise<boolean> {
  const earliest = begunAt === undefined ? undefined : new Date(Date.parse(begunAt) - clocksDifferMs).toISOString();
  for (let last = revision; last >= 0; ) {
    const first = Math.max(0, last - page.events + 1);
    let isOlder = false;
    // A page may end early at its byte limit: the rest is read next.
    for (let from = first; from <= last; ) {
      const { events } = await store.readPage(stream, { from, events: last - from + 1, bytes: page.bytes });
      if (events.length === 0) break;
      if (events.some(({ metadata }) => metadata.operation === mark)) return true;
      if (from === first) isOlder = earliest !== undefined && events[0]!.metadata.at < earliest;
      from += events.length;
    }
    if (isOlder) return false;
    last = first - 1;
  }
  return false;
}
