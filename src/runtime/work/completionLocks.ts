import type { Sql } from "#src/platform/postgres/database.ts";
import type { Completion } from "./completion.ts";
import type { LaneId } from "./lane.ts";
import { laneKeyOfChange, lastTimerChanges } from "./timerChanges.ts";

/**
 * Locks all lanes that the completions change, in one order, and returns the claims that are still held. Lanes that do not exist and under
 * which a timer is set are created by the same statement: created later, they would be locked out of order.
 */
export async function lockHeldLanes(tx: Sql, completions: readonly Completion[]): Promise<Set<string>> {
  const setsElsewhere = completions.some(({ lane, timers = [] }) =>
    timers.some((change) => "set" in change && change.set.key !== lane.key),
  );
  const rows = setsElsewhere ? await lockOrCreateLanes(tx, completions) : await lockExistingLanes(tx, completions);
  return new Set(rows.flatMap(({ claim }) => claim ?? []));
}

type LockedLane = { claim: string | null };

async function lockExistingLanes(tx: Sql, completions: readonly Completion[]): Promise<LockedLane[]> {
  const lanes = touchedBy(completions);
  const { rows } = await tx.query<LockedLane>(
    `select case when state = 'claimed' then claim end as claim from work.lanes
     where (process, key) in (select * from unnest($1::text[], $2::text[])) order by process, key for no key update`,
    [lanes.map(({ process }) => process), lanes.map(({ key }) => key)],
  );
  return rows;
}

async function lockOrCreateLanes(tx: Sql, completions: readonly Completion[]): Promise<LockedLane[]> {
  const lanes = touchedBy(completions);
  const { rows } = await tx.query<LockedLane & LaneId & { made: boolean }>(
    `insert into work.lanes as lane (process, key, workspace, state, due_at)
     select process, key, workspace, 'waiting', 'infinity' from unnest($1::text[], $2::text[], $3::text[])
       as touched (process, key, workspace) order by process, key
     on conflict (process, key) do update set workspace = lane.workspace
     returning process, key, case when state = 'claimed' then claim end as claim, xmax = 0 as made`,
    [lanes.map(({ process }) => process), lanes.map(({ key }) => key), lanes.map(({ workspace }) => workspace)],
  );
  const held = new Set(rows.map(({ claim }) => claim));
  const said = lastTimerChanges(completions.filter(({ lane }) => held.has(lane.claim)));
  const needed = new Set(said.flatMap((word) => (word.set ? nameOf(word) : [])));
  const needless = rows.filter((lane) => lane.made && !needed.has(nameOf(lane)));
  await tx.query("delete from work.lanes where (process, key) in (select * from unnest($1::text[], $2::text[]))", [
    needless.map(({ process }) => process),
    needless.map(({ key }) => key),
  ]);
  return rows;
}

const nameOf = ({ process, key }: LaneId): string => JSON.stringify([process, key]);

type TouchedLane = LaneId & { workspace: string };

/**
 * Returns each lane once: those that are released, and those under which timers are set or cancelled. Includes changes that a later
 * completion overrides: which change is the last one counts only among held claims, and those are known after locking.
 */
function touchedBy(completions: readonly Completion[]): TouchedLane[] {
  const all: TouchedLane[] = [
    ...completions.flatMap(({ lane, timers = [] }) =>
      timers.map((change) => ({ ...lane, key: laneKeyOfChange(change) })),
    ),
    ...completions.map(({ lane }) => lane),
    ...completions.flatMap((completion) => lastTimerChanges([completion]).filter(({ set }) => set !== undefined)),
  ];
  return [...new Map(all.map((lane) => [nameOf(lane), lane])).values()];
}
