import type { Readable } from "node:stream";
import type { Clock } from "#src/platform/clock.ts";
import { createPlaces, type Holder } from "../framework/places.ts";

/** The streams that are open on this instance. */
export type OpenStreams = {
  /**
   * Opens a stream for all of its holders; its place counts until it is closed. `make` is given the signal that its place is another's, at which
   * it has to end. Throws Rejected rate_limited where there is no place (framework/places.ts).
   */
  open(holders: readonly Holder[], make: (replaced: AbortSignal) => Readable): Readable;
};

export function createOpenStreams(deps: { clock: Pick<Clock, "monotonic"> }): OpenStreams {
  const places = createPlaces("event streams", deps);
  return {
    open(holders, make) {
      const { replaced, leave } = places.take(holders);
      return make(replaced).once("close", leave);
    },
  };
}
