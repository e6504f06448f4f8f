import type { Sql } from "#src/platform/postgres/database.ts";
import { replaceTimerSql } from "./items.ts";
import type { LaneId } from "./lane.ts";
import { assignTurnsSql, storeTurnsSql } from "./turns.ts";

/**
 * SQL that makes the lanes of a common table expression `woken (process, key, workspace)` ready at once, whatever they wait for. Lanes that
 * do not exist are created.
 */
export const wakeLanesSql = `
  ${assignTurnsSql},
  lanes as (
    insert into work.lanes as lane (process, key, workspace, state, turn)
    select process, key, workspace, 'ready', turn from woken join turns using (process, key) order by process, key
    on conflict (process, key) do update set generation = lane.generation + 1,
      state = case when lane.state = 'waiting' then 'ready' else lane.state end,
      turn = case when lane.state = 'waiting' then excluded.turn else lane.turn end,
      retry_at = null, obstacles = null
    returning 1
  ),
  ${storeTurnsSql}`;

/** A timer set from outside any handler. Its payload carries the cause (handlerContext.ts). */
export type ImmediateTimer = LaneId & { workspace: string; name: string; payload: Record<string, unknown> };

/**
 * Sets timers that are due at once, at most one per lane, in the caller's transaction. Locks lanes before their items, as the completions
 * do.
 */
export async function setImmediateTimers(tx: Sql, timers: readonly ImmediateTimer[]): Promise<void> {
  const given = JSON.stringify(timers);
  await tx.query(
    `with woken as (
       select process, key, workspace from json_to_recordset($1::json) as given (process text, key text, workspace text)
     ),
     ${wakeLanesSql}
     select`,
    [given],
  );
  await tx.query(
    `insert into work.items as item (process, key, timer, due_at, payload)
     select process, key, name, 'epoch', payload
     from json_to_recordset($1::json) as given (process text, key text, name text, payload json)
     on conflict ${replaceTimerSql}`,
    [given],
  );
}
