import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";

/** A key or workspace that holds places. `most`: maximum number of its places. `name`: how the sentences of refusals name the holder. */
export type LongRequestHolder = { name: string; id: string; most: number };

/** A place taken by one long request. When `replaced` is aborted, another request has the place and the holder must end. */
export type LongRequestPlace = { replaced: AbortSignal; leave(): void };

/** Concurrency limit for long requests on this instance, per holder. */
export type LongRequestLimit = {
  /**
   * Takes one place from each holder, until `leave`. If a holder has none free, its oldest request is replaced; while that one is younger
   * than a minute, throws Rejected rate_limited with the seconds until it can be replaced. A client that vanished without closing (network
   * or power failure) looks like a quiet one until the system's TCP timeout, so this bounds how long it blocks others.
   */
  take(holders: readonly LongRequestHolder[]): LongRequestPlace;
};

/** `since`: by the monotonic clock, in milliseconds. */
type PlaceEntry = { since: number; ids: readonly string[]; replaced: AbortController };

/** Milliseconds during which a place cannot be replaced: with more clients than places, each keeps one for this long in turn. */
const stayMs = 60_000;

/** Maximum number of places of a key and of a workspace on one instance, for event streams and for waiting calls. */
const maxOfKey = 5;
const maxOfWorkspace = 50;

export const holdersOf = ({ id, workspaceId }: { id: string; workspaceId: string }): LongRequestHolder[] => [
  { name: "this API key", id, most: maxOfKey },
  { name: "this workspace", id: workspaceId, most: maxOfWorkspace },
];

/** `what`: plural name of the long requests, used in refusals. */
export function createLongRequestLimit(what: string, { clock }: { clock: Pick<Clock, "monotonic"> }): LongRequestLimit {
  /** Taken places by holder id, oldest first. */
  const taken = new Map<string, Set<PlaceEntry>>();

  /** The place to free for one more request of this holder; undefined if one is free. Throws rate_limited if no place is old enough. */
  function inTheWay({ name, id, most }: LongRequestHolder): PlaceEntry | undefined {
    const places = [...(taken.get(id) ?? [])];
    if (places.length < most) return undefined;
    const waitMs = places[0]!.since + stayMs - clock.monotonic();
    if (waitMs > 0) throw tooMany(what, name, { most, waitMs });
    return places[0];
  }

  function leave(place: PlaceEntry): void {
    for (const id of place.ids) {
      const places = taken.get(id);
      places?.delete(place);
      if (places?.size === 0) taken.delete(id);
    }
  }

  return {
    take(holders) {
      // Check all holders before replacing any place. One place may be the oldest of several holders.
      for (const oldest of new Set(holders.map(inTheWay))) {
        if (!oldest) continue;
        leave(oldest);
        oldest.replaced.abort();
      }
      const ids = holders.map(({ id }) => id);
      const place: PlaceEntry = { since: clock.monotonic(), ids, replaced: new AbortController() };
      for (const id of ids) taken.set(id, (taken.get(id) ?? new Set()).add(place));
      return { replaced: place.replaced.signal, leave: () => leave(place) };
    },
  };
}

const tooMany = (what: string, holder: string, { most, waitMs }: { most: number; waitMs: number }): Rejected =>
  new Rejected(
    "rate_limited",
    `${holder} already has ${most} ${what} open, which is the limit: close one first, or wait until the oldest has been open for a minute`,
    { retryAfter: Math.ceil(waitMs / 1000) },
  );
