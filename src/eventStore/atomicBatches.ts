import type { Recorded } from "#streams/event.ts";
import type { Batch, EventStore } from "./eventStore.ts";

/**
 * Wraps an event store so that its subscriptions never split the events of one append: no read model shows a thread without the message
 * that opened it. A batch may therefore exceed its size by the rest of an append. Adapters end a batch wherever its size or a page of the
 * log ends.
 */
export const keepAppendsAtomic = (store: EventStore): EventStore => ({
  ...store,
  subscribe: (options) => wholeBatches(store.subscribe(options)),
});

async function* wholeBatches(batches: AsyncIterable<Batch>): AsyncGenerator<Batch, void> {
  /** First events of an append whose rest has not arrived. */
  let begun: readonly Recorded[] = [];
  for await (const batch of batches) {
    const events = [...begun, ...batch.events];
    const whole = isBeyond(batch, begun) ? events.length : endOfWhole(events);
    begun = events.slice(whole);
    if (begun.length === 0) yield { ...batch, events };
    else if (whole > 0)
      yield { events: events.slice(0, whole), position: events[whole - 1]!.position, caughtUp: false };
  }
}

/**
 * True if the log was read beyond the incomplete append without another event. An append is contiguous in the log, so no more of it
 * follows. The beginning of an append at the very end of a log, which no store leaves, is delivered only once another event follows it.
 */
const isBeyond = ({ events, position }: Batch, begun: readonly Recorded[]): boolean =>
  events.length === 0 && position > (begun.at(-1)?.position ?? 0);

/** Returns how many of the events precede an incomplete append. */
function endOfWhole(events: readonly Recorded[]): number {
  let end = events.length;
  if (moreThan(events.at(-1)) === 0) return end;
  for (end -= 1; end > 0 && isFollowedBy(events[end - 1]!, events[end]!); ) end -= 1;
  return end;
}

const moreThan = (event: Recorded | undefined): number => event?.metadata.more ?? 0;

const isFollowedBy = (event: Recorded, next: Recorded): boolean =>
  event.stream === next.stream && moreThan(event) === moreThan(next) + 1;
