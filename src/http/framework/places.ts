import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";

/** The holder of a place, and the most places they may hold. `name`: as the refusal says it. */
export type Holder = { name: string; id: string; most: number };

/** A place that was taken. `replaced` is aborted when it is another's: its holder then ends. */
export type Place = { replaced: AbortSignal; leave(): void };

/** Places of long requests on this instance, bounded by holder. */
export type Places = {
  /**
   * A place with all of its holders, until it is left. If a holder has all of theirs taken, the oldest gives its place up; throws Rejected
   * rate_limited while that one is younger than a minute, with the time from which on it would. A client that went without a word (its network was
   * cut, its machine lost its power) looks like one that is quiet, for as long as the system goes on sending: so nobody is kept out by such for
   * longer than that.
   */
  take(holders: readonly Holder[]): Place;
};

/** `since`: by the monotonic clock. */
type Taken = { since: number; ids: readonly string[]; replaced: AbortController };

/** Milliseconds for which a place is kept no matter who else comes: with more clients than places they take turns of this length. */
const stayMs = 60_000;

/** Places that a key and a workspace may hold on one instance: of event streams, and of calls that wait. */
const maxOfKey = 5;
const maxOfWorkspace = 50;

export const holdersOf = ({ id, workspaceId }: { id: string; workspaceId: string }): Holder[] => [
  { name: "this API key", id, most: maxOfKey },
  { name: "this workspace", id: workspaceId, most: maxOfWorkspace },
];

/** `what`: what is held, in the plural, as a refusal says it. */
export function createPlaces(what: string, { clock }: { clock: Pick<Clock, "monotonic"> }): Places {
  /** The oldest first. */
  const taken = new Map<string, Set<Taken>>();

  /** Which place has to be given up for one more of this holder; undefined if there is room. */
  function inTheWay({ name, id, most }: Holder): Taken | undefined {
    const places = [...(taken.get(id) ?? [])];
    if (places.length < most) return undefined;
    const waitMs = places[0]!.since + stayMs - clock.monotonic();
    if (waitMs > 0) throw tooMany(what, name, { most, waitMs });
    return places[0];
  }

  function leave(place: Taken): void {
    for (const id of place.ids) {
      const places = taken.get(id);
      places?.delete(place);
      if (places?.size === 0) taken.delete(id);
    }
  }

  return {
    take(holders) {
      // All are asked before anybody is sent away. The oldest of one may be the oldest of another too.
      for (const oldest of new Set(holders.map(inTheWay))) {
        if (!oldest) continue;
        leave(oldest);
        oldest.replaced.abort();
      }
      const ids = holders.map(({ id }) => id);
      const place: Taken = { since: clock.monotonic(), ids, replaced: new AbortController() };
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
