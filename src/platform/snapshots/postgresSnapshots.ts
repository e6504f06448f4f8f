import type { Sql } from "#src/platform/postgres/database.ts";
import type { Snapshot, Snapshots } from "./snapshots.ts";

const read = `select state, revision, event_id as "eventId" from work.snapshots where stream = $1 and rules = $2`;
const write = `insert into work.snapshots as kept (stream, rules, revision, event_id, state) values ($1, $2, $3, $4, $5)
  on conflict (stream) do update set
    rules = excluded.rules, revision = excluded.revision, event_id = excluded.event_id, state = excluded.state, made_at = now()
  where kept.rules <> excluded.rules or kept.revision < excluded.revision`;
const drop = "delete from work.snapshots where stream = $1 and ($2::uuid is null or event_id = $2)";
const outdated = `select stream from work.snapshots
  join unnest($1::text[], $2::text[]) as present (category, rules) on present.category = split_part(stream, '-', 1)
  where snapshots.rules <> present.rules order by revision desc limit $3`;

/** Snapshots in PostgreSQL, in `work.snapshots`. */
export const postgresSnapshots = (sql: Sql): Snapshots => ({
  async read(stream, rules) {
    const { rows } = await sql.query<Snapshot>(read, [stream, rules]);
    return rows[0];
  },
  async write(stream, rules, { state, revision, eventId }) {
    await sql.query(write, [stream, rules, revision, eventId, JSON.stringify(state)]);
  },
  async drop(stream, eventId = undefined) {
    await sql.query(drop, [stream, eventId ?? null]);
  },
  async outdated(rules, most) {
    const { rows } = await sql.query<{ stream: string }>(outdated, [[...rules.keys()], [...rules.values()], most]);
    return rows.map(({ stream }) => stream);
  },
});
