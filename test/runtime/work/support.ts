import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { expect } from "chai";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { systemClock } from "#src/platform/clock.ts";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { createProcessRunner, type ProcessRunner, type ProcessRunnerOptions } from "#src/runtime/work/runner.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { append, newEvent, quietLog } from "../projections/support.ts";

/** Makes a process that handles events of toys; each toy has its own key. */
export const rule = (more: Partial<Process> & Pick<Process, "on">): Process => ({
  name: "toyRule",
  categories: ["toy"],
  keyOf: (event) => event.stream,
  ...more,
});

/** Registers hooks for the tests of a file: a database and a log for each test, and runners that are stopped after it. */
export function useWorkTable() {
  let test: TestDatabase;
  let database: BackgroundDatabase;
  let store: EventStore;
  const running: ProcessRunner[] = [];
  let log = quietLog();

  beforeEach(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((runner) => runner.stop()));
    await store.close();
    await database.close();
    await test.drop();
    // Planner and workers lock in one order: a deadlock would be retried and cost a second.
    const deadlocks = log.said.filter(({ details }) => /deadlock/.test(inspect(details)));
    log = quietLog();
    expect(deadlocks).to.deep.equal([]);
  });

  return {
    get database() {
      return database;
    },
    get store() {
      return store;
    },
    /** Lines that the instances have logged. */
    get said() {
      return log.said;
    },
    /** Starts one more instance with these processes. */
    run(processes: readonly Process[], more: Partial<ProcessRunnerOptions> = {}): ProcessRunner {
      const runner = createProcessRunner({
        ...{
          store,
          database,
          clock: systemClock,
          logger: log,
          instanceId: randomUUID(),
          processes,
          projected: async () => true,
        },
        ...{ backoff: (failures: number) => 5 * failures },
        ...more,
      });
      running.push(runner);
      runner.start();
      return runner;
    },
    rows: async (sql: string) => (await database.query(sql)).rows,
    /** Returns true if a statement waits for a lock of another one. */
    waitsForLock: async (): Promise<boolean> =>
      (
        await database.query(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1",
        )
      ).rows.length > 0,
    happen: (stream: string, ...numbers: number[]) =>
      append(store, stream, ...numbers.map((number) => newEvent("Happened", { number }))),
  };
}
