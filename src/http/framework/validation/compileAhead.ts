import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds between two schemas, so that requests meanwhile are not delayed. */
const pauseMs = 20;

/**
 * Compiles the schemas of all routes one after the other, each in a separate turn of the event loop; otherwise the first request of a route
 * would compile them and delay all others. Resolves when done, or after abort. Does not keep the process alive.
 */
export async function compileAhead(
  routes: readonly { compile: readonly (() => void)[] }[],
  signal: AbortSignal,
): Promise<void> {
  for (const compile of routes.flatMap((route) => route.compile)) {
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    try {
      compile();
    } catch {
      // The first request that needs the schema reports the error.
    }
  }
}
