import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";

/**
 * Makes a function that runs a clean-up statement at most once per `everyMs`; callers that add rows call it. It never waits and never
 * throws. The statement must skip locked rows, because several instances may run it at the same time.
 */
export function createSweep(deps: {
  database: Pick<Database, "query">;
  clock: Clock;
  statement: string;
  everyMs: number;
  onError: (error: unknown) => void;
}): () => void {
  const { database, clock, statement, everyMs, onError } = deps;
  let lastAt = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    if (now - lastAt < everyMs) return;
    lastAt = now;
    database.query(statement).catch(onError);
  };
}
