import type { IncomingMessage } from "node:http";
import { refuseSlow } from "../connectionRefusals.ts";
import { smallBody } from "./uploads.ts";

/** Milliseconds within which more data of a body must arrive. The rate of a large body is measured over the same interval. */
export const usualPaceMs = 15_000;
/** Minimum bytes of a large body per such interval: below it, the body cannot arrive within the minute that a request has. */
const leastOfLarge = 64 * 1024;

/**
 * Watches a body until the returned function is called: a small one must bring some data per interval, a large one at least `leastOfLarge`.
 * Otherwise answers 408 and ends the connection. `received`: bytes so far.
 */
export function watchBodyPace(
  request: IncomingMessage,
  { paceMs, received }: { paceMs: number; received: () => number },
): () => void {
  const announced = Number(request.headers["content-length"] ?? 0);
  let before = 0;
  const watch = setInterval(() => {
    const now = received();
    const least = Math.max(announced, now) > smallBody ? leastOfLarge : 1;
    if (now - before < least) {
      clearInterval(watch);
      refuseSlow(request.socket);
    }
    before = now;
  }, paceMs);
  watch.unref();
  return () => clearInterval(watch);
}
