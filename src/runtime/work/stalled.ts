import type { Sql } from "#src/platform/postgres/database.ts";
import { isSoonTrue } from "#src/runtime/projections/stalled.ts";
import { plannerLease } from "./plannerLease.ts";

/** Returns the reason why processes do not run: no instance plans their work. Waits a moment for an instance that has only just started. */
export async function whyPlannerStalled(sql: Sql): Promise<string | undefined> {
  const isHeld = async (): Promise<boolean> => {
    const { rowCount } = await sql.query(
      "select 1 from work.leases where name = $1 and expires_at < clock_timestamp()",
      [plannerLease],
    );
    return rowCount === 0;
  };
  return (await isSoonTrue(isHeld)) ? undefined : "no instance plans the work of the processes";
}
