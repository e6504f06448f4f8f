import { randomUUID } from "node:crypto";
import { projections } from "#projections/index.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import { createProjectionRunner } from "#src/subscriptions/projections.ts";
import type { Log } from "#src/subscriptions/retrying.ts";

/** Lets the read models follow the log to its end, as a service with this role alone would. Answers the seconds that took. */
export async function catchUp(
  { store, database, logger }: { store: EventStore; database: Database; logger: Log },
  onProjected: (position: number) => void,
): Promise<number> {
  const began = performance.now();
  const runner = createProjectionRunner({
    store,
    database,
    projections,
    logger,
    instanceId: randomUUID(),
    onProjected: (reached) => onProjected(Math.min(...reached.values())),
  });
  try {
    await runner.start();
    await runner.caughtUp();
    return (performance.now() - began) / 1_000;
  } finally {
    await runner.stop();
  }
}
