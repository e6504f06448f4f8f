import type { Sql } from "#src/postgres/database.ts";
import type { ProcessContext, Timer } from "#src/processes/process.ts";

export type DueTimer = Timer & { revision: string };

const atOnce = 200;

/** A process's timers: rows, so that they survive any restart. */
export function createTimers(database: Sql, process: string) {
  const timers: ProcessContext["timers"] = {
    async set(key, name, dueAt, payload = {}) {
      await database.query(
        `insert into work.timers (process, key, name, due_at, payload) values ($1, $2, $3, $4, $5)
         on conflict (process, key, name)
         do update set due_at = excluded.due_at, payload = excluded.payload, revision = gen_random_uuid()`,
        [process, key, name, dueAt, JSON.stringify(payload)],
      );
    },
    async cancel(key, name) {
      await database.query("delete from work.timers where process = $1 and key = $2 and name = $3", [
        process,
        key,
        name,
      ]);
    },
  };
  return {
    ...timers,
    async due(now: Date): Promise<DueTimer[]> {
      const { rows } = await database.query<{
        key: string;
        name: string;
        due_at: Date;
        payload: Record<string, unknown>;
        revision: string;
      }>(
        `select key, name, due_at, payload, revision from work.timers
         where process = $1 and due_at <= $2 order by due_at limit $3`,
        [process, now, atOnce],
      );
      return rows.map(({ key, name, due_at, payload, revision }) => ({
        key,
        name,
        dueAt: due_at,
        payload,
        revision,
      }));
    },
    /** Gone, unless it was set again while it was being handled. */
    async done(timer: DueTimer): Promise<void> {
      await database.query("delete from work.timers where process = $1 and key = $2 and name = $3 and revision = $4", [
        process,
        timer.key,
        timer.name,
        timer.revision,
      ]);
    },
  };
}
