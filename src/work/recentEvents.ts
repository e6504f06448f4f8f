import { textOf } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** Events that were planned a moment ago, by their positions: whoever handles them here need not read them from the log again. */
export type RecentEvents = {
  add(events: readonly Recorded[]): void;
  at(position: number): Recorded | undefined;
};

const mostEvents = 1_000;
/** Characters of what they hold, which may be a draft's whole text. */
const mostText = 8_000_000;

/** Keeps the newest, as many as are let. */
export function createRecentEvents(): RecentEvents {
  const kept = new Map<number, { event: Recorded; size: number }>();
  let text = 0;

  function forget(position: number): void {
    text -= kept.get(position)?.size ?? 0;
    kept.delete(position);
  }

  return {
    add(events) {
      for (const event of events) {
        forget(event.position);
        const size = textOf(event);
        kept.set(event.position, { event, size });
        text += size;
      }
      for (const position of kept.keys()) {
        if (kept.size <= mostEvents && text <= mostText) break;
        forget(position);
      }
    },
    at: (position) => kept.get(position)?.event,
  };
}
