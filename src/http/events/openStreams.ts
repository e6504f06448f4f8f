import type { Readable } from "node:stream";
import type { Clock } from "#src/clock.ts";
import { Rejected } from "#streams/decider.ts";

/** Who holds a stream open, and how many they may. `name`: as the refusal says it. */
export type Holder = { name: string; id: string; most: number };

/** The streams that are open on this instance. */
export type OpenStreams = {
  /**
   * Opens a stream for all of its holders; it counts until it is closed. `make` is given the signal that its place is another's, at which it has
   * to end. If a holder has all of theirs open, the oldest gives its place up; throws Rejected rate_limited while that one is younger than a
   * minute, with the time from which on it would. A client that went without a word (its network was cut, its machine lost its power) looks
   * like one that is quiet, for as long as the system goes on sending: so nobody is kept out by such for longer than that.
   */
  open(holders: readonly Holder[], make: (replaced: AbortSignal) => Readable): Readable;
};

/** A stream in its place. `since`: by the monotonic clock. */
type Place = { since: number; ids: readonly string[]; replaced: AbortController };

/** Milliseconds for which a stream keeps its place no matter who else comes: with more clients than places they take turns of this length. */
const stayMs = 60_000;

export function createOpenStreams({ clock }: { clock: Pick<Clock, "monotonic"> }): OpenStreams {
  /** The oldest first. */
  const open = new Map<string, Set<Place>>();

  /** Which place has to be given up for one more of this holder; undefined if there is room. */
  function inTheWay({ name, id, most }: Holder): Place | undefined {
    const places = [...(open.get(id) ?? [])];
    if (places.length < most) return undefined;
    const waitMs = places[0]!.since + stayMs - clock.monotonic();
    if (waitMs > 0) throw tooMany(name, { most, waitMs });
    return places[0];
  }

  function leave(place: Place): void {
    for (const id of place.ids) {
      const places = open.get(id);
      places?.delete(place);
      if (places?.size === 0) open.delete(id);
    }
  }

  return {
    open(holders, make) {
      // All are asked before anybody is sent away. The oldest of one may be the oldest of another too.
      for (const oldest of new Set(holders.map(inTheWay))) {
        if (!oldest) continue;
        leave(oldest);
        oldest.replaced.abort();
      }
      const ids = holders.map(({ id }) => id);
      const place: Place = { since: clock.monotonic(), ids, replaced: new AbortController() };
      for (const id of ids) open.set(id, (open.get(id) ?? new Set()).add(place));
      return make(place.replaced.signal).once("close", () => leave(place));
    },
  };
}

const tooMany = (holder: string, { most, waitMs }: { most: number; waitMs: number }): Rejected =>
  new Rejected(
    "rate_limited",
    `${holder} already has ${most} event streams open, which is the limit: close one first, or wait until the oldest has been open for a minute`,
    { retryAfter: Math.ceil(waitMs / 1000) },
  );
