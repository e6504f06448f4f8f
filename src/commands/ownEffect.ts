import type { EventStore } from "#src/eventStore/eventStore.ts";

/** How much of a stream is looked through at once. */
const page = { events: 500, bytes: 2_000_000 };

/** Milliseconds by which the clocks of those who record events may differ. */
const clocksDifferMs = 3_600_000;

/**
 * Whether a stream holds an event of this mark (Cause.operation), looked for from its end backwards: what a repetition repeats is among the newest.
 * Nothing is read from before the operation began, where that is known (`begunAt`, ISO 8601 UTC). `revision`: the stream's newest.
 */
export async function holdsMark(
  store: Pick<EventStore, "readPage">,
  { stream, revision }: { stream: string; revision: number },
  { mark, begunAt }: { mark: string; begunAt: string | undefined },
): Promise<boolean> {
  const earliest = begunAt === undefined ? undefined : new Date(Date.parse(begunAt) - clocksDifferMs).toISOString();
  for (let last = revision; last >= 0; ) {
    const first = Math.max(0, last - page.events + 1);
    let isOlder = false;
    // A page ends where its bytes are full: what is left of it comes with the next.
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
