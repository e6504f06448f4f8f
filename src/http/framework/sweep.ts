import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";

/**
 * Runs a clean-up statement now and then, as long as there is work: callers that add rows call it. Never waits and never fails; instances that
 * sweep at the same time must not wait for each other (skip locked).
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
