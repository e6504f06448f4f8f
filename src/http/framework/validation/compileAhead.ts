import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds between two schemas: what is asked meanwhile does not wait for all of them. */
const pauseMs = 20;

/**
 * Compiles the schemas of routes one after the other, each in a turn of its own: the first request of a route would wait for it, and everybody else
 * with it. Resolves when it is done, or after the signal. It keeps no process alive.
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
      // The first request that needs it says what is wrong with it.
    }
  }
}
