import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { BackgroundDatabase, Sql } from "#src/platform/postgres/database.ts";

/** PostgreSQL as one instance sees it: reachable, away, or silent because the instance itself is suspended. */
export type FaultyDatabase = {
  database: BackgroundDatabase;
  /** Makes every statement fail as if the server were away. Resolves when no statement is in progress. */
  goAway(): Promise<void>;
  comeBack(): void;
  /**
   * Suspends the instance at the first statement that includes `text`: before the statement is sent, or after it changed something and
   * before its answer is read.
   */
  stopAt(text: string, when: "before" | "after"): Promise<void>;
  /** Makes the next statement that includes `text` fail: with this SQLSTATE, or as if the server were away. */
  failAt(text: string, how: string): void;
  /** Suspends the instance at once. Resolves when it resumes. */
  stop(): Promise<void>;
  /** Ends the suspension or the outage. */
  goOn(): void;
  /**
   * Kills the instance: none of its statements takes effect any more. Each is answered as if there were no work, so that the instance's
   * loops in this process end soon.
   */
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

  /**
   * Rolls back the open transactions of a killed instance, and reports success to it: otherwise it would retry until its shutdown timeout.
   */
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
