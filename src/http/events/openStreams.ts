import type { Readable } from "node:stream";
import type { Clock } from "#src/platform/clock.ts";
import { createLongRequestLimit, type LongRequestHolder } from "../framework/longRequestLimit.ts";

/** The open streams of this instance. */
export type OpenStreams = {
  /**
   * Opens a stream that occupies one place of each holder until it is closed. `make` receives a signal that is aborted when another stream
   * takes over the place: the stream must then end. Throws Rejected rate_limited if there is no place (../framework/longRequestLimit.ts).
   */
  open(holders: readonly LongRequestHolder[], make: (replaced: AbortSignal) => Readable): Readable;
};

export function createOpenStreams(deps: { clock: Pick<Clock, "monotonic"> }): OpenStreams {
  const places = createLongRequestLimit("event streams", deps);
  return {
    open(holders, make) {
      const { replaced, leave } = places.take(holders);
      return make(replaced).once("close", leave);
    },
  };
}
