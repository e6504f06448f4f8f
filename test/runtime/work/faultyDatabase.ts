import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { BackgroundDatabase, Sql } from "#src/platform/postgres/database.ts";

/** How one instance sees PostgreSQL: there, away, or silent because the instance itself does not go on. */
export type FaultyDatabase = {
  database: BackgroundDatabase;
  /** Every statement fails as if the server were away, until it is back. Resolves when no statement is under way any more. */
  goAway(): Promise<void>;
  comeBack(): void;
  /** At the first statement that includes `text`, before it is sent, or before its answer is read if it did something, everything stops. */
  stopAt(text: string, when: "before" | "after"): Promise<void>;
  /** The next statement that includes `text` fails: with this SQLSTATE, or as if the server were away. */
  failAt(text: string, how: string): void;
  /** It stops here: resolves when it goes on. */
  stop(): Promise<void>;
  /** Goes on, where it was stopped or was away. */
  goOn(): void;
  /** Nothing of it ever happens any more. It is told that there is nothing to do, so that what is left of it in this process ends soon. */
  die(): void;
};

export function faultyDatabase(real: BackgroundDatabase): FaultyDatabase {
  let away = false;
  let underWay = 0;
  let dead = false;
  let stopped: { until: Promise<void>; end(): void } | undefined;
  let failing: { text: string; how: string } | undefined;
  let armed: { text: string; when: "before" | "after"; reached(): void } | undefined;

  function stop(): Promise<void> {
    let end = (): void => {};
    const until = new Promise<void>((resolve) => {
      end = resolve;
    });
    stopped ??= { until, end };
    return stopped.until;
  }

  async function pass(text: string, when: "before" | "after", did = true): Promise<void> {
    if (armed?.when === when && text.includes(armed.text) && did) {
      const { reached } = armed;
      armed = undefined;
      void stop();
      reached();
    }
    await stopped?.until;
    if (when === "before" && failing && text.includes(failing.text)) {
      const { how } = failing;
      failing = undefined;
      if (how !== "away") throw Object.assign(new Error("it passes"), { code: how });
      throw new Unavailable("PostgreSQL is away");
    }
    if (away) throw new Unavailable("PostgreSQL is away");
  }

  const through = (sql: Sql): Sql => ({
    async query<Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) {
      await pass(text, "before");
      if (dead) return { rows: [], rowCount: 0 };
      underWay += 1;
      const answer = await sql.query<Row>(text, values).finally(() => {
        underWay -= 1;
      });
      await pass(text, "after", (answer.rowCount ?? 0) > 0);
      return answer;
    },
  });

  /** What one that is dead had not committed goes with it. It is told the contrary: it would try again for as long as it is given to stop. */
  async function transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    const undone = new Error("it is dead");
    let answer: { is: T } | undefined;
    try {
      await real.transaction(async (tx) => {
        answer = { is: await work(through(tx)) };
        if (dead) throw undone;
      });
    } catch (error) {
      if (error !== undone) throw error;
    }
    return answer!.is;
  }

  return {
    database: {
      ...real,
      ...through(real),
      transaction,
    },
    async goAway() {
      away = true;
      while (underWay > 0) await sleep(1);
    },
    comeBack() {
      away = false;
    },
    stopAt: (text, when) =>
      new Promise((reached) => {
        armed = { text, when, reached };
      }),
    failAt(text, how) {
      failing = { text, how };
    },
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
