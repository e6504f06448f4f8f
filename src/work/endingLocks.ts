import type { Sql } from "#src/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import type { Ending } from "./endings.ts";
import type { LaneId } from "./lanes.ts";

/**
 * Locks all lanes that the endings change, in one order, and answers the claims that are held. Lanes that a timer is set under and that are
 * not there are made by the same statement: made later, they would be locked out of order.
 */
export async function lockHeld(tx: Sql, endings: readonly Ending[]): Promise<Set<string>> {
  const setsElsewhere = endings.some(({ lane, timers = [] }) =>
    timers.some((change) => "set" in change && change.set.key !== lane.key),
  );
  const rows = setsElsewhere ? await lockAndMake(tx, endings) : await lockThose(tx, endings);
  return new Set(rows.flatMap(({ claim }) => claim ?? []));
}

type Locked = { claim: string | null };

async function lockThose(tx: Sql, endings: readonly Ending[]): Promise<Locked[]> {
  const lanes = touchedBy(endings);
  const { rows } = await tx.query<Locked>(
    `select case when state = 'claimed' then claim end as claim from work.lanes
     where (process, key) in (select * from unnest($1::text[], $2::text[])) order by process, key for no key update`,
    [lanes.map(({ process }) => process), lanes.map(({ key }) => key)],
  );
  return rows;
}

async function lockAndMake(tx: Sql, endings: readonly Ending[]): Promise<Locked[]> {
  const lanes = touchedBy(endings);
  const { rows } = await tx.query<Locked & LaneId & { made: boolean }>(
    `insert into work.lanes as lane (process, key, workspace, state, due_at)
     select process, key, workspace, 'waiting', 'infinity' from unnest($1::text[], $2::text[], $3::text[])
       as touched (process, key, workspace) order by process, key
     on conflict (process, key) do update set workspace = lane.workspace
     returning process, key, case when state = 'claimed' then claim end as claim, xmax = 0 as made`,
    [lanes.map(({ process }) => process), lanes.map(({ key }) => key), lanes.map(({ workspace }) => workspace)],
  );
  const held = new Set(rows.map(({ claim }) => claim));
  const set = endings.filter(({ lane }) => held.has(lane.claim)).flatMap(setBy);
  const needless = rows.filter(({ made, process, key }) => made && !set.some((lane) => isSame(lane, { process, key })));
  await tx.query("delete from work.lanes where (process, key) in (select * from unnest($1::text[], $2::text[]))", [
    needless.map(({ process }) => process),
    needless.map(({ key }) => key),
  ]);
  return rows;
}

const isSame = (one: LaneId, other: LaneId): boolean => one.process === other.process && one.key === other.key;

type Touched = LaneId & { workspace: string };

/** Lanes that timers are set under. */
const setBy = ({ lane: { process, workspace }, timers = [] }: Ending): Touched[] =>
  timers.flatMap((change) =>
    "set" in change ? { process, key: change.set.key, workspace: workspaceOfTimer(change.set) ?? workspace } : [],
  );

/** Each once: lanes that are given back, that timers are cancelled under, and set under. */
function touchedBy(endings: readonly Ending[]): Touched[] {
  const cancelled = endings.flatMap(({ lane, timers = [] }) =>
    timers.flatMap((change) => ("cancel" in change ? { ...lane, key: change.cancel } : [])),
  );
  const all: Touched[] = [...cancelled, ...endings.map(({ lane }) => lane), ...endings.flatMap(setBy)];
  return [...new Map(all.map((lane) => [JSON.stringify([lane.process, lane.key]), lane])).values()];
}

/** Whose a timer is, if it says so. */
export const workspaceOfTimer = ({ payload }: Timer): string | undefined => payload.workspaceId as string | undefined;
