import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { lowestCheckpoint } from "./checkpoints.ts";
import type { ProjectionRunner } from "./projectionRunner.ts";
import type { ReadModelReadiness } from "./readiness.ts";
import { pause } from "./retrying.ts";

/** Milliseconds that the next step, or a takeover of an expired lease, may take. */
const patienceMs = 1_500;
const lookEveryMs = 50;

/** Returns why the read models cannot be relied on: they are behind the log and do not advance, whichever instance writes them. */
export async function whyReadModelsStalled(
  { database, store }: { database: Sql; store: Pick<EventStore, "head"> },
  projections: readonly { name: string }[],
): Promise<string | undefined> {
  const head = await store.head();
  const first = await lowestCheckpoint(database, projections);
  let now = first;
  const moves = async (): Promise<boolean> => {
    now = await lowestCheckpoint(database, projections);
    return now >= head || now > first;
  };
  if (first >= head || (await isSoonTrue(moves))) return undefined;
  return `they are stuck at ${now}, but the log ends at ${head}`;
}

/**
 * Returns what is wrong with the read models as a whole: they are catching up, or stuck. A single one with trouble is named, and does not
 * make the service unready.
 */
export async function describeReadModels({ database, store, readiness, runner }: ReadModelsContext): Promise<Trouble> {
  const inTrouble = runner?.trouble();
  const catchingUp = readiness.catchingUp();
  if (catchingUp !== undefined) return inTrouble === undefined ? catchingUp : `${catchingUp} (${inTrouble})`;
  const left = readiness.left();
  const stuck = await whyReadModelsStalled({ database, store }, readiness.together());
  if (stuck !== undefined) return stuck;
  if (inTrouble !== undefined) return { ready: inTrouble };
  return left.length === 0 ? undefined : { ready: `${left.join(", ")} cannot be answered from` };
}

/** A string means not ready; `{ ready }` is ready, with a warning. */
type Trouble = string | { ready: string } | undefined;

type ReadModelsContext = {
  database: Sql;
  store: Pick<EventStore, "head">;
  readiness: Pick<ReadModelReadiness, "catchingUp" | "left" | "together">;
  /** The runner, if this instance may write them. */
  runner: Pick<ProjectionRunner, "trouble"> | undefined;
};

/** True if `isSo` holds now or within `patienceMs`. */
export async function isSoonTrue(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; ; waited += lookEveryMs) {
    if (await isSo()) return true;
    if (waited >= patienceMs) return false;
    await pause(lookEveryMs, new AbortController().signal);
  }
}
