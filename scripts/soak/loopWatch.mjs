// @ts-check
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Imported by a service that is watched: says on stderr each time its event loop was held, as `{"held_ms":…,"at_us":…}`. What counts is the main
 * thread's own CPU time between two ticks of a timer: on a busy machine others take the rest.
 */
const everyMs = 10;
const sayOverMs = 50;

/** Nanoseconds of this very thread on a processor. */
const cpuNs = () => Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[0]);

if (isMainThread) {
  let before = cpuNs();
  if (!(before > 0)) throw new Error("this kernel does not say how long a thread ran");
  setInterval(() => {
    const now = cpuNs();
    const heldMs = (now - before) / 1e6;
    before = now;
    if (heldMs > sayOverMs)
      process.stderr.write(`{"held_ms":${Math.round(heldMs)},"at_us":${process.hrtime.bigint() / 1000n}}\n`);
  }, everyMs).unref();
}
