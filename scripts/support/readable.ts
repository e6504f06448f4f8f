import { setTimeout as sleep } from "node:timers/promises";
import type { ReadModel } from "#projections/names.ts";
import type { Composition } from "#src/compose.ts";
import { lowestCheckpoint } from "#src/runtime/projections/checkpoints.ts";
import { type ProgressBar, progressBar } from "./progress.ts";

const lookEveryMs = 100;
const momentMs = 1_000;

/**
 * Waits until the running service can answer from what was just written, and shows the progress of its read models. If no service writes
 * them there is nothing to wait for: then it says so.
 */
export async function untilReadable(
  { database }: Pick<Composition, "database">,
  of: readonly ReadModel[],
  position: number,
): Promise<void> {
  const lowest = async (): Promise<number> =>
    lowestCheckpoint(
      database,
      of.map((name) => ({ name })),
    );
  let reached = await lowest();
  if (reached >= position) return;
  const since = performance.now();
  let bar: ProgressBar | undefined;
  try {
    while (reached < position) {
      if (!(await isWritten(database))) {
        console.error(
          "No service is running that fills the read models: what was done can be read once one has caught up.",
        );
        return;
      }
      await sleep(lookEveryMs);
      const now = await lowest();
      // A short wait needs no progress bar.
      if (performance.now() - since > momentMs) bar ??= progressBar("read models", position);
      bar?.update(now, now - reached);
      reached = now;
    }
  } finally {
    bar?.stop();
  }
}

/** True if an instance holds the lease to write read models. */
async function isWritten(database: Composition["database"]): Promise<boolean> {
  const { rows } = await database.query(
    "select 1 from work.leases where name like 'projections:%' and expires_at > now()",
  );
  return rows.length > 0;
}
