import type { Role, Sql } from "#src/postgres/database.ts";
import { beginsWork } from "./transactions.ts";
import { givingTurns } from "./turns.ts";

/**
 * Of all lanes that are set aside under a stream one is tried after this long, in milliseconds: what nobody tells them about is found out,
 * and ten thousand that wait cost no more than one.
 */
export const tryEveryMs = 600_000;
/** How soon it is looked at what has become of it. */
const lookAgainMs = 2_000;
const mostAtOnce = 50;

/** Makes everything ready that is set aside under any of these streams, whose rows in `work.tags` are locked. */
export async function wakeSetAside(tx: Sql, streams: readonly string[]): Promise<void> {
  await tx.query(
    `with woken as (
       select process, key, workspace from work.lanes where state = 'waiting' and obstacles && $1::text[]
       order by process, key for no key update
     ),
     ${givingTurns}
     update work.lanes lane set state = 'ready', turn = turns.turn, generation = generation + 1, obstacles = null
     from turns where lane.process = turns.process and lane.key = turns.key`,
    [streams],
  );
}

type Tag = { stream: string; tried_process: string | null; tried_key: string | null };

/** Tries one lane of each stream for which it is time; where one got through, nothing is in the way of the others any more. True if there may be more. */
export async function trySetAside(database: Role, now: Date): Promise<boolean> {
  const { rows: due } = await database.query<{ stream: string }>(
    `select stream from work.tags where try_at <= $1 order by try_at limit ${mostAtOnce}`,
    [now],
  );
  for (const { stream } of due) {
    await database.transaction(async (tx) => {
      await tx.query(beginsWork);
      const { rows } = await tx.query<Tag>(
        "select stream, tried_process, tried_key from work.tags where stream = $1 and try_at <= $2 for update skip locked",
        [stream, now],
      );
      if (rows[0]) await tryOne(tx, rows[0], now);
    });
  }
  return due.length === mostAtOnce;
}

async function tryOne(tx: Sql, tag: Tag, now: Date): Promise<void> {
  const { stream } = tag;
  if (tag.tried_key !== null) {
    const came = await whatCameOf(tx, tag);
    if (came === "nothing yet") return plan(tx, stream, { at: new Date(now.getTime() + lookAgainMs), tried: tag });
    if (came === "got through") await wakeSetAside(tx, [stream]);
    return plan(tx, stream, { at: new Date(now.getTime() + tryEveryMs) });
  }
  const tried = await wakeOne(tx, stream);
  const again = tried ? new Date(now.getTime() + lookAgainMs) : null;
  await plan(tx, stream, { at: again, ...(tried && { tried }) });
}

/** One that fails for other reasons says nothing about what is in the way. */
async function whatCameOf(tx: Sql, tag: Tag): Promise<"nothing yet" | "got through" | "still in the way"> {
  const { rows } = await tx.query<{ state: string; failing: boolean; aside: boolean }>(
    `select state, retry_at is not null as failing, coalesce(obstacles @> array[$3], false) as aside
     from work.lanes where process = $1 and key = $2`,
    [tag.tried_process, tag.tried_key, tag.stream],
  );
  const [lane] = rows;
  if (!lane) return "got through";
  if (lane.state !== "waiting") return "nothing yet";
  return lane.aside || lane.failing ? "still in the way" : "got through";
}

type Tried = Pick<Tag, "tried_process" | "tried_key">;

/** The one that had its turn longest ago. */
async function wakeOne(tx: Sql, stream: string): Promise<Tried | undefined> {
  const { rows } = await tx.query<Tried>(
    `with woken as (
       select process, key, workspace from work.lanes where state = 'waiting' and obstacles @> array[$1]
       order by turn limit 1 for no key update
     ),
     ${givingTurns}
     update work.lanes lane set state = 'ready', turn = turns.turn, generation = generation + 1, obstacles = null
     from turns where lane.process = turns.process and lane.key = turns.key
     returning lane.process as tried_process, lane.key as tried_key`,
    [stream],
  );
  return rows[0];
}

async function plan(tx: Sql, stream: string, { at, tried }: { at: Date | null; tried?: Tried }): Promise<void> {
  await tx.query("update work.tags set try_at = $2, tried_process = $3, tried_key = $4 where stream = $1", [
    stream,
    at,
    tried?.tried_process ?? null,
    tried?.tried_key ?? null,
  ]);
}
