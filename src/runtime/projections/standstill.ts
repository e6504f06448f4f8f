import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { lowestStored } from "./checkpoints.ts";
import type { ProjectionRunner } from "./projectionRunner.ts";
import type { Readiness } from "./readiness.ts";
import { pause } from "./retrying.ts";

/** How long something may take its next step, or find its next holder; a lease is taken over within this after it ran out. */
const patienceMs = 1_500;
const lookEveryMs = 50;

/** Why the read models are not to be relied on: behind the log and not a step further, no matter who writes them, here or elsewhere. */
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

/**
 * What is wrong with the read models as a whole: they are catching up, or they stand still. One that alone has trouble is named, and does not
 * make the others unready.
 */
export async function readModelsTrouble({ database, store, readiness, runner }: Looking): Promise<Trouble> {
  const inTrouble = runner?.trouble();
  const catchingUp = readiness.catchingUp();
  if (catchingUp !== undefined) return inTrouble === undefined ? catchingUp : `${catchingUp} (${inTrouble})`;
  const left = readiness.left();
  const stuck = await readModelsStandStill({ database, store }, readiness.together());
  if (stuck !== undefined) return stuck;
  if (inTrouble !== undefined) return { ready: inTrouble };
  return left.length === 0 ? undefined : { ready: `${left.join(", ")} cannot be answered from` };
}

/** A sentence: not ready. */
type Trouble = string | { ready: string } | undefined;

type Looking = {
  database: Sql;
  store: Pick<EventStore, "head">;
  readiness: Pick<Readiness, "catchingUp" | "left" | "together">;
  /** Where this instance may write them. */
  runner: Pick<ProjectionRunner, "trouble"> | undefined;
};

/** True if it is so now, or becomes so in a moment. */
export async function soon(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; ; waited += lookEveryMs) {
    if (await isSo()) return true;
    if (waited >= patienceMs) return false;
    await pause(lookEveryMs, new AbortController().signal);
  }
}
