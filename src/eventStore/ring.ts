import { categoryOf, type Recorded } from "#streams/event.ts";
import { type Batch, type SubscribeOptions, textOf } from "./eventStore.ts";

/** What is kept: enough for readers that are moments apart, little enough to be kept always. */
const mostEvents = 1_000;
const mostText = 8_000_000;

type Kept = { event: Recorded; category: string; size: number };

/** The newest stretch of the log: every event after `from`, up to `to`. */
export type Ring = {
  /** Positions before this one are read from the store; everything after it is kept here. */
  from(): number;
  to(): number;
  /** A position in the older half is about to be let go. */
  isOld(position: number): boolean;
  /** `from`, `to` or a kept event is at this position, so it is one of this very log. */
  knows(position: number): boolean;
  /** So many events of a stream from a revision on, if all of them are kept. */
  of(stream: string, fromRevision: number, count: number): Recorded[] | undefined;
  /** Takes in what comes next in the log, and lets go of the oldest. */
  push(batch: Batch): void;
  /** What comes after a position that is not before `from`. */
  after(request: Pick<SubscribeOptions, "after" | "categories" | "batchSize">): Batch;
};

/** Begins at `position`, the end of the log as it was. */
export function createRing(position: number): Ring {
  let kept: Kept[] = [];
  const byPlace = new Map<string, Recorded>();
  let text = 0;
  let from = position;
  let to = position;
  let atEnd = false;

  /** The index of the first kept event after a position. */
  function indexAfter(after: number): number {
    let low = 0;
    for (let high = kept.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (kept[middle]!.event.position > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function letGo(): void {
    let gone = 0;
    for (; kept.length - gone > mostEvents || text > mostText; gone++) {
      text -= kept[gone]!.size;
      byPlace.delete(placeOf(kept[gone]!.event));
    }
    if (gone === 0) return;
    from = kept[gone - 1]!.event.position;
    kept = kept.slice(gone);
  }

  return {
    from: () => from,
    to: () => to,
    isOld: (at) => at < from || at < (kept[kept.length >>> 1]?.event.position ?? from),
    knows: (at) => at === from || at === to || kept[indexAfter(at) - 1]?.event.position === at,
    of(stream, fromRevision, count) {
      const events: Recorded[] = [];
      for (let revision = fromRevision; revision < fromRevision + count; revision++) {
        const event = byPlace.get(placeOf({ stream, revision }));
        if (!event) return undefined;
        events.push(event);
      }
      return events;
    },
    push({ events, position: reached, caughtUp }) {
      for (const event of events) {
        const size = textOf(event);
        kept.push({ event, category: categoryOf(event.stream), size });
        byPlace.set(placeOf(event), event);
        text += size;
      }
      to = reached;
      atEnd = caughtUp;
      letGo();
    },
    after({ after, categories, batchSize = 500 }) {
      const events: Recorded[] = [];
      for (let index = indexAfter(after); index < kept.length; index++) {
        const { event, category } = kept[index]!;
        if (categories && !categories.includes(category)) continue;
        if (events.length === batchSize) return { events, position: events.at(-1)!.position, caughtUp: false };
        events.push(event);
      }
      return { events, position: Math.max(after, to), caughtUp: atEnd };
    },
  };
}

const placeOf = ({ stream, revision }: Pick<Recorded, "stream" | "revision">): string => `${revision}@${stream}`;
