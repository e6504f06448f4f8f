import type { Sql } from "#src/postgres/database.ts";
import type { Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";

export type Parked = { id: number; key: string; subject: Recorded | Timer };

export type Parking = {
  park(parked: {
    key: string;
    position: number | null;
    subject: Recorded | Timer;
    error: Error;
    tries: number;
  }): Promise<void>;
  /** Those somebody asked to have tried again. */
  requested(): Promise<Parked[]>;
  done(id: number): Promise<void>;
  failedAgain(id: number, error: Error): Promise<void>;
};

/** Events that a process gave up on: kept with their error, until somebody has them tried again. */
export const createParking = (database: Sql, process: string): Parking => ({
  async park({ key, position, subject, error, tries }) {
    await database.query(
      `insert into work.parked (process, key, position, timer, item, error, tries, parked_at)
       values ($1, $2, $3, $4, $5, $6, $7, now()) on conflict do nothing`,
      [process, key, position, timerName(subject), JSON.stringify(subject), messageOf(error), tries],
    );
  },
  async requested() {
    const { rows } = await database.query<Parked>(
      "select id, key, item as subject from work.parked where process = $1 and retry_requested_at is not null order by id limit 100",
      [process],
    );
    return rows;
  },
  async done(id) {
    await database.query("delete from work.parked where id = $1", [id]);
  },
  async failedAgain(id, error) {
    await database.query(
      "update work.parked set retry_requested_at = null, tries = tries + 1, error = $2, parked_at = now() where id = $1",
      [id, messageOf(error)],
    );
  },
});

const timerName = (subject: Recorded | Timer): string | null => ("stream" in subject ? null : subject.name);

const messageOf = (error: Error): string => (error.stack ?? error.message).slice(0, 4_000).replaceAll("\u0000", "");
