import type { EventStore } from "#src/eventStore/eventStore.ts";

/** Maximum size of one page read from a stream. */
const page = { events: 500, bytes: 2_000_000 };

/** Maximum clock difference between instances, in milliseconds. */
const clocksDifferMs = 3_600_000;

/**
 * Returns true if a stream has an event with this mark (Cause.operation). Searches backwards from the end, because a repeated operation
 * usually had its effect recently; stops at the operation's start (`begunAt`, ISO 8601 UTC) if that is known. `revision`: revision of the
 * stream's newest event.
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
    // A page may end early because of its byte limit; the loop then reads the rest.
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
