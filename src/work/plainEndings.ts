import type { Sql } from "#src/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import type { Ending, Failed, Stored } from "./endings.ts";
import { type ItemRow, itemColumns, itemsOf, itemsOfTurn, timerAgain } from "./items.ts";
import type { Claimed } from "./lanes.ts";
import { lettingGo } from "./lettingGo.ts";

/** Those that one statement can record: of lanes about which nothing else is said. */
export function plainOf(endings: readonly Ending[]): Ending[] {
  const failing = new Set(endings.filter(({ failed }) => failed).map(({ lane }) => lane.claim));
  const inSteps = new Set(
    endings.filter((ending) => !isPlain(ending, failing.has(ending.lane.claim))).map(({ lane }) => lane.claim),
  );
  return endings.filter(({ lane }) => !inSteps.has(lane.claim));
}

/** Timers of its own lane alone; and none where an item has failed: one statement cannot change the row of a timer that failed twice. */
const isPlain = ({ lane, givenUp, timers = [], next }: Ending, failed: boolean): boolean =>
  !givenUp &&
  (timers.length === 0 || !failed) &&
  timers.every((change) => ("set" in change ? change.set.key : change.cancel) === lane.key) &&
  next?.how !== "set aside";

/** All that is said of one claim. Of each timer the last word counts. */
type Said = {
  lane: Claimed;
  done: number[];
  failed: Failed[];
  timers: Map<string, Timer | "cancelled">;
  next?: Ending["next"];
};

function saidOf(endings: readonly Ending[]): Said[] {
  const byClaim = new Map<string, Said>();
  for (const { lane, done, failed, timers = [], next } of endings) {
    const said: Said = byClaim.get(lane.claim) ?? { lane, done: [], failed: [], timers: new Map() };
    if (done !== undefined) said.done.push(done);
    if (failed) said.failed.push(failed);
    for (const change of timers) {
      if ("set" in change) said.timers.set(change.set.name, change.set);
      else said.timers.set(change.name, "cancelled");
    }
    if (next) said.next = next;
    byClaim.set(lane.claim, said);
  }
  return [...byClaim.values()];
}

/** The payload as text: what it holds is not looked at, and need not be of what JSON can say. */
function asJson({ lane: { process, key, claim }, done, failed, timers, next }: Said): object {
  const set = [...timers.values()].filter((timer) => timer !== "cancelled");
  return {
    ...{ process, key, claim, done, failed, release: next !== undefined },
    timers: set.map(({ name, dueAt, payload }) => ({ name, dueAt, payload: JSON.stringify(payload) })),
    cancelled: [...timers.keys()].filter((name) => timers.get(name) === "cancelled"),
    changed: [...timers.keys()],
    retryAt: next?.how === "retry" ? next.at : null,
  };
}

/** Items of the lane that these endings say nothing about. */
const isLeft = `item.process = mine.process and item.key = mine.key and item.id <> all(mine.done)
  and (item.timer is null or item.parked is not null or item.timer <> all(mine.changed))`;

/**
 * Almost all there are, in one statement: items that are done or failed, timers of the lane's own, and lanes that go on or are tried again. It
 * sees what was there when it began: a lane that is woken between then and its lock is left to the steps (endings.ts), which look once they
 * have it. Answers what it has recorded.
 */
export async function recordPlain(
  sql: Sql,
  endings: readonly Ending[],
  { now, holder }: { now: Date; holder?: string | undefined },
): Promise<Stored> {
  const { rows } = await sql.query<Claimed & { was: string; ready: boolean; items: ItemRow[] | null }>(
    `with said as (
       select * from json_to_recordset($1::json) as said (process text, key text, claim uuid, done bigint[], failed json, release boolean,
         timers json, cancelled text[], changed text[], "retryAt" timestamptz)
     ),
     seen as materialized (
       select process, key, generation from work.lanes where (process, key) in (select process, key from said)
     ),
     mine as (
       select lane.process, lane.key, lane.workspace, said.claim, done, failed, release, timers, cancelled, changed, "retryAt",
         set_config('synchronous_commit', 'off', true)
       from work.lanes lane join said on lane.process = said.process and lane.key = said.key and lane.claim = said.claim
         join seen on seen.process = lane.process and seen.key = lane.key
       where lane.state = 'claimed' and (not said.release or lane.generation = seen.generation)
       order by lane.process, lane.key for no key update of lane
     ),
     done as (delete from work.items item using mine where item.id = any(mine.done) returning item.parked),
     unparked as (delete from work.parked using done where id = done.parked),
     tried as (
       update work.items item
       set tries = failed.tries, failures = failed.failures, timeouts = coalesce(failed.timeouts, item.timeouts)
       from mine cross join lateral json_to_recordset(mine.failed) as failed (id bigint, tries integer, failures integer, timeouts integer)
       where item.id = failed.id
     ),
     cancelled as (
       delete from work.items item using mine
       where item.process = mine.process and item.key = mine.key and item.timer = any(mine.cancelled) and item.parked is null
     ),
     set_again as (
       insert into work.items as item (process, key, timer, due_at, payload)
       select process, key, timer.name, timer."dueAt", timer.payload::json
       from mine cross join lateral json_to_recordset(mine.timers) as timer (name text, "dueAt" timestamptz, payload text)
       on conflict ${timerAgain}
       returning *
     ),
     ended as (
       select process, key, workspace, "retryAt" as retry_at, least(
         (select min(due_at) from work.items item where ${isLeft}),
         (select min(due_at) from set_again item where item.process = mine.process and item.key = mine.key)
       ) as due_at
       from mine where release
     ),
     ${lettingGo("$3")}
     select mine.claim as was, exists (select from lanes where state = 'ready') as ready,
       kept.process, kept.key, kept.workspace, kept.claim, kept.generation, (
         select json_agg(due) from (
           select ${itemColumns} from (
             select * from work.items item where ${isLeft}
             union all select * from set_again item where item.process = mine.process and item.key = mine.key
           ) item where due_at <= $2 and kept.claim is not null order by position, due_at, id limit ${itemsOfTurn}
         ) due
       ) as items
     from mine left join lanes kept on kept.process = mine.process and kept.key = mine.key and kept.state = 'claimed'`,
    [JSON.stringify(saidOf(endings).map(asJson)), now, holder ?? null],
  );
  return {
    held: new Set(rows.map(({ was }) => was)),
    readyAgain: rows.some(({ ready }) => ready),
    taken: rows.flatMap(({ was, ready, items, ...lane }) => (lane.claim ? { lane, items: itemsOf(items) } : [])),
  };
}
