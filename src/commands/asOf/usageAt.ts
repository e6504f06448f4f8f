import { LRUCache } from "lru-cache";
import type { Recorded } from "#streams/event.ts";
import { type IdSet, includesId } from "#streams/idSet.ts";
import type { QuotaEvent } from "#streams/quota/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { pagesUntil } from "./eventsUntil.ts";

type Ports = Pick<Dependencies, "store" | "quotas">;

/** Mails counted by the events of a quota before the revision `next`. `latest`: the latest time of these events, in ms since 1970. */
type Mark = { next: number; used: number; latest: number };

const start: Mark = { next: 0, used: 0, latest: Number.NEGATIVE_INFINITY };

/** Marks of the streams asked about last: one for each page, because a busy month has more events than can be read for one answer. */
const remembered = new WeakMap<object, LRUCache<string, readonly Mark[]>>();
const mostStreams = 1_000;

function marksOf({ store }: Ports): LRUCache<string, readonly Mark[]> {
  const known = remembered.get(store) ?? new LRUCache({ max: mostStreams });
  remembered.set(store, known);
  return known;
}

/** Returns the number of mails that a quota had counted at a time. `stream`: its name. */
export async function usedAt(deps: Ports, stream: string, at: Date): Promise<number> {
  const marks = marksOf(deps);
  const { state } = await deps.quotas.load(stream);
  let mark = (marks.get(stream) ?? []).findLast(({ latest }) => latest <= at.getTime()) ?? start;
  for await (const { events, whole } of pagesUntil<QuotaEvent>(deps.store, stream, { at, from: mark.next })) {
    mark = countOn(mark, events, state.reserved);
    if (whole) marks.set(stream, withMark(marks.get(stream) ?? [], mark));
  }
  return mark.used;
}

const withMark = (marks: readonly Mark[], mark: Mark): readonly Mark[] =>
  mark.next > (marks.at(-1)?.next ?? 0) ? [...marks, mark] : marks;

/**
 * Counts further events. Each reservation counts once, because a quota never records one twice. A release counts if its id was ever
 * reserved (`reserved`), which must have been earlier: a released id is never reserved.
 */
function countOn(mark: Mark, events: readonly Recorded<QuotaEvent>[], reserved: IdSet): Mark {
  let { used, latest } = mark;
  const counted = (event: QuotaEvent): number =>
    event.type === "QuotaReserved" ? 1 : includesId(reserved, event.data.reservationId) ? -1 : 0;
  for (const event of events) {
    used += counted(event);
    latest = Math.max(latest, Date.parse(event.metadata.at));
  }
  return { next: mark.next + events.length, used, latest };
}
