import type { Sql } from "#src/platform/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import { replaceTimerSql } from "./items.ts";
import type { LaneClaim, LaneId } from "./lane.ts";

/** A timer set or cancelled by a handler. `orWhen`: resolves when the timer may be due before its time. */
export type TimerChange = { set: Timer; orWhen?: Promise<unknown> } | { cancel: LaneId["key"]; name: string };

/** Id of a timer: its lane and its name. */
export type TimerId = LaneId & { name: string };

/** Timers changed in one transaction, at most: ten thousand set by one handler must not block others. */
export const maxTimersPerTransaction = 1_000;

/** Splits changes into parts of `maxTimersPerTransaction`, in their order. The last part may be empty. */
export function splitTimerChanges(timers: readonly TimerChange[]): { first: TimerChange[][]; last: TimerChange[] } {
  const first: TimerChange[][] = [];
  let from = 0;
  for (; timers.length - from > maxTimersPerTransaction; from += maxTimersPerTransaction) {
    first.push(timers.slice(from, from + maxTimersPerTransaction));
  }
  return { first, last: timers.slice(from) };
}

/** Key of the lane that a change is about. */
export const laneKeyOfChange = (change: TimerChange): string => ("set" in change ? change.set.key : change.cancel);

/** Changes of timers, and the lane whose handler made them. */
type LaneTimerChanges = { lane: LaneClaim; timers?: readonly TimerChange[] };

/** The last change of one timer, and the timer's lane. `elsewhere`: another lane made it. */
export type LastTimerChange = TimerId & { workspace: string; elsewhere: boolean; set: Timer | undefined };

/** Returns the last change of each timer. Timers that are set have a workspace: their own, or that of the lane that sets them. */
export function lastTimerChanges(completions: readonly LaneTimerChanges[]): LastTimerChange[] {
  const words = new Map<string, LastTimerChange>();
  for (const { lane, timers = [] } of completions) {
    const { process, workspace } = lane;
    for (const change of timers) {
      const [key, name, set] =
        "set" in change ? [change.set.key, change.set.name, change.set] : [change.cancel, change.name];
      const elsewhere = key !== lane.key;
      words.set(JSON.stringify([process, key, name]), {
        ...{ process, key, name, elsewhere, set },
        workspace: (set && workspaceOfTimer(set)) ?? workspace,
      });
    }
  }
  return [...words.values()];
}

/** Workspace in a timer's payload, if any. */
const workspaceOfTimer = ({ payload }: Timer): string | undefined => payload.workspaceId as string | undefined;

/**
 * Stores changes of timers, whose lanes must exist and be locked. A lane is not woken for its own timers: it is checked when its claim
 * ends. Woken, a lane that sets itself aside would be ready again at once, for ever.
 */
export async function changeTimers(tx: Sql, words: readonly LastTimerChange[]): Promise<void> {
  const cancelled = words.filter(({ set }) => set === undefined);
  if (cancelled.length > 0) {
    await tx.query(
      `delete from work.items where (process, key, timer) in (select * from unnest($1::text[], $2::text[], $3::text[])) and parked is null`,
      [cancelled.map(({ process }) => process), cancelled.map(({ key }) => key), cancelled.map(({ name }) => name)],
    );
  }
  const set = words.flatMap(({ set, ...word }) => (set ? { ...word, set } : []));
  await setTimers(tx, set);
  await updateLanes(
    tx,
    set.filter(({ elsewhere }) => elsewhere),
  );
}

/** A timer to set, and its process. */
export type SetTimer = { process: string; set: Timer };

/** Stores timers, each once. */
export async function setTimers(tx: Sql, timers: readonly SetTimer[]): Promise<void> {
  if (timers.length === 0) return;
  const rows = timers.map(({ process, set }) => ({ ...set, process, payload: JSON.stringify(set.payload) }));
  await tx.query(
    `insert into work.items as item (process, key, timer, due_at, payload)
     select process, key, name, "dueAt", payload::json
     from json_to_recordset($1::json) as given (process text, key text, name text, "dueAt" timestamptz, payload text)
     on conflict ${replaceTimerSql}`,
    [JSON.stringify(rows)],
  );
}

async function updateLanes(tx: Sql, timers: readonly SetTimer[]): Promise<void> {
  if (timers.length === 0) return;
  const rows = timers.map(({ process, set: { key, dueAt } }) => ({ process, key, dueAt }));
  await tx.query(
    `update work.lanes lane set generation = lane.generation + 1,
       due_at = case when lane.state = 'waiting' and lane.retry_at is null then least(lane.due_at, soonest) else lane.due_at end
     from (
       select process, key, min("dueAt") as soonest
       from json_to_recordset($1::json) as given (process text, key text, "dueAt" timestamptz) group by process, key
     ) given
     where lane.process = given.process and lane.key = given.key`,
    [JSON.stringify(rows)],
  );
}
