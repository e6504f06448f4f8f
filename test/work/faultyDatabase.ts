import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/postgres/database.ts";

/** How one instance sees PostgreSQL: there, away, or silent because the instance itself does not go on. */
export type FaultyDatabase = {
  database: Database;
  /** Every statement fails as if the server were away, until it is back. */
  goAway(): void;
  comeBack(): void;
  /** At the first statement that includes `text`, before it is sent or before its answer is read, everything stops. */
  stopAt(text: string, when: "before" | "after"): Promise<void>;
  /** It stops here: resolves when it goes on. */
  stop(): Promise<void>;
  /** Goes on, where it was stopped or was away. */
  goOn(): void;
  /** Nothing of it ever happens any more: what waits fails. */
  die(): void;
};

export function faultyDatabase(real: Database): FaultyDatabase {
  let away = false;
  let dead = false;
  let stopped: { until: Promise<void>; end(): void } | undefined;
  let armed: { text: string; when: "before" | "after"; reached(): void } | undefined;

  function stop(): Promise<void> {
    let end = (): void => {};
    const until = new Promise<void>((resolve) => {
      end = resolve;
    });
    stopped ??= { until, end };
    return stopped.until;
  }

  async function pass(text: string, when: "before" | "after"): Promise<void> {
    if (armed?.when === when && text.includes(armed.text)) {
      const { reached } = armed;
      armed = undefined;
      void stop();
      reached();
    }
    await stopped?.until;
    if (dead || away) throw new Unavailable("PostgreSQL is away");
  }

  const through = (sql: Sql): Sql => ({
    async query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) {
      await pass(text, "before");
      const answer = await sql.query<Row>(text, values);
      await pass(text, "after");
      return answer;
    },
  });

  return {
    database: {
      ...real,
      ...through(real),
      transaction: (work) => real.transaction((tx) => work(through(tx))),
    },
    goAway() {
      away = true;
    },
    comeBack() {
      away = false;
    },
    stopAt: (text, when) =>
      new Promise((reached) => {
        armed = { text, when, reached };
      }),
    stop,
    goOn() {
      stopped?.end();
      stopped = undefined;
    },
    die() {
      dead = true;
      stopped?.end();
      stopped = undefined;
    },
  };
}
