import type { IncomingMessage } from "node:http";
import { refuseSlow } from "../refusal.ts";
import { smallBody } from "./uploads.ts";

/** Milliseconds that a body may bring nothing, and over which the rate of a large one is taken. */
export const usualPaceMs = 15_000;
/** Bytes in each such time: a large body that brings less cannot arrive within the minute that a request has. */
const leastOfLarge = 64 * 1024;

/**
 * From now on the body has to keep coming, until the answer is called: a large one with a least rate, a small one at all. Otherwise it is
 * refused with 408, and its connection ends. `received`: bytes so far.
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
