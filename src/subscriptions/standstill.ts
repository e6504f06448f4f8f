import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/postgres/database.ts";
import { plannerLease } from "#src/work/plannerLease.ts";
import { lowestStored } from "./checkpoints.ts";
import { pause } from "./retrying.ts";

/** How long something may take its next step, or find its next holder; a lease is taken over within this after it ran out. */
const patienceMs = 1_500;
const lookEveryMs = 50;

/** Why the read models are not to be relied on: behind the log and not a step further. Whoever writes them, here or elsewhere. */
export async function readModelsStandStill(
  { database, store }: { database: Sql; store: Pick<EventStore, "head"> },
  projections: readonly { name: string }[],
): Promise<string | undefined> {
  const head = await store.head();
  const first = await lowestStored(database, projections);
  let now = first;
  const moves = async (): Promise<boolean> => {
    now = await lowestStored(database, projections);
    return now >= head || now > first;
  };
  if (first >= head || (await soon(moves))) return undefined;
  return `they are stuck at ${now}, but the log ends at ${head}`;
}

/** Why processes do not run: nobody plans their work any more. An instance that was only just started is given the time to begin. */
export async function nobodyPlans(sql: Sql): Promise<string | undefined> {
  const isHeld = async (): Promise<boolean> => {
    const { rowCount } = await sql.query(
      "select 1 from work.leases where name = $1 and expires_at < clock_timestamp()",
      [plannerLease],
    );
    return rowCount === 0;
  };
  return (await soon(isHeld)) ? undefined : "no instance plans the work of the processes";
}

async function soon(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; ; waited += lookEveryMs) {
    if (await isSo()) return true;
    if (waited >= patienceMs) return false;
    await pause(lookEveryMs, new AbortController().signal);
  }
}
