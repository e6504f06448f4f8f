import type { Sql } from "#src/platform/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import { timerAgain } from "./items.ts";
import type { Claimed, LaneId } from "./lane.ts";

/** What a handler has done with timers. `orWhen`: it may be due before its time. */
export type TimerChange = { set: Timer; orWhen?: Promise<unknown> } | { cancel: LaneId["key"]; name: string };

/** A timer by its name. */
export type TimerId = LaneId & { name: string };

/** At most this many timers are changed in one transaction: ten thousand that one handler sets hold nobody up. */
export const mostTimersAtOnce = 1_000;

/** The same changes in their order, so many at a time. The last part may be empty. */
export function partsOf(timers: readonly TimerChange[]): { first: TimerChange[][]; last: TimerChange[] } {
  const first: TimerChange[][] = [];
  let from = 0;
  for (; timers.length - from > mostTimersAtOnce; from += mostTimersAtOnce) {
    first.push(timers.slice(from, from + mostTimersAtOnce));
  }
  return { first, last: timers.slice(from) };
}

/** The lane that a change is about. */
export const keyOfChange = (change: TimerChange): string => ("set" in change ? change.set.key : change.cancel);

/** Of whom, and what they say. */
type Said = { lane: Claimed; timers?: readonly TimerChange[] };

/** The last word about one timer, and the lane that has it. `elsewhere`: another lane said so. */
export type LastWord = TimerId & { workspace: string; elsewhere: boolean; set: Timer | undefined };

/** Of each timer the last word counts. Those that are set have a workspace: their own, or that of the lane that sets them. */
export function lastWords(endings: readonly Said[]): LastWord[] {
  const words = new Map<string, LastWord>();
  for (const { lane, timers = [] } of endings) {
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

/** Whose a timer is, if it says so. */
const workspaceOfTimer = ({ payload }: Timer): string | undefined => payload.workspaceId as string | undefined;

/**
 * Stores what is said about timers of lanes that are all there and locked. Of its own timers no lane needs to be told: it is looked at when the
 * claim ends. Told all the same, one that sets itself aside would be ready again at once, for ever.
 */
export async function changeTimers(tx: Sql, words: readonly LastWord[]): Promise<void> {
  const cancelled = words.filter(({ set }) => set === undefined);
  if (cancelled.length > 0) {
    await tx.query(
      `delete from work.items where (process, key, timer) in (select * from unnest($1::text[], $2::text[], $3::text[])) and parked is null`,
      [cancelled.map(({ process }) => process), cancelled.map(({ key }) => key), cancelled.map(({ name }) => name)],
    );
  }
  const set = words.flatMap(({ set, ...word }) => (set ? { ...word, set } : []));
  await setTimers(tx, set);
  await tellLanes(
    tx,
    set.filter(({ elsewhere }) => elsewhere),
  );
}

/** A timer that is set, and the process whose it is. */
export type SetTimer = { process: string; set: Timer };

/** Stores timers, each once. */
export async function setTimers(tx: Sql, timers: readonly SetTimer[]): Promise<void> {
  if (timers.length === 0) return;
  const rows = timers.map(({ process, set }) => ({ ...set, process, payload: JSON.stringify(set.payload) }));
  await tx.query(
    `insert into work.items as item (process, key, timer, due_at, payload)
     select process, key, name, "dueAt", payload::json
     from json_to_recordset($1::json) as given (process text, key text, name text, "dueAt" timestamptz, payload text)
     on conflict ${timerAgain}`,
    [JSON.stringify(rows)],
  );
}

async function tellLanes(tx: Sql, timers: readonly SetTimer[]): Promise<void> {
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
