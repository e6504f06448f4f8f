import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { projections } from "#projections/index.ts";
import { noStream } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createLogger } from "#src/logger.ts";
import { connectDatabase, type Sql } from "#src/postgres/database.ts";
import { createProjectionRunner } from "#src/subscriptions/projections.ts";
import { createWaitFor } from "#src/subscriptions/waitFor.ts";
import type { Bench } from "./bench.ts";
import { figure, goal, latency, progress, progressDone, round, spreadOf, spreadText } from "./measure.ts";

const perSecond = 1_000;

/**
 * How long after an append was asked for its row can be read, at a steady rate that does not wait for answers. Beside it, the same for a
 * plain INSERT of one row that is there when it is answered: the least there could be.
 */
export const bench: Bench = {
  title: `visible: append to row in the read model, ${perSecond} a second`,
  repetitions: 5,
  async run({ server, repetitions, seconds = 5 }) {
    const urls = await server.database();
    const database = connectDatabase(urls);
    const store = createPostgresEventStore({ connectionString: urls.serviceUrl });
    const { projected, reached: onProjected, rest, close } = createWaitFor({ database, projections });
    const of = projections.map(({ name }) => name);
    const logger = createLogger("warn");
    const runner = createProjectionRunner({
      ...{ store, database, projections, logger, instanceId: "bench", onProjected, rest },
    });
    await runner.start();
    await runner.caughtUp();
    const pool = new pg.Pool({ connectionString: (await server.database({ migrated: false })).ownerUrl, max: 32 });
    pool.on("error", () => {});
    await pool.query("create table rows (id uuid primary key, data json not null)");

    const ours = async (): Promise<number> => {
      const id = randomUUID();
      const { position } = await store.append(`workspace-${id}`, noStream, [
        { id: randomUUID(), ...workspaceCreated(id) },
      ]);
      if (!(await projected(position, { of, timeoutMs: 60_000 })))
        throw new Error(`${position} is not visible after 60 s`);
      return performance.now();
    };
    const plain = async (): Promise<number> => {
      const id = randomUUID();
      const data = JSON.stringify(workspaceCreated(id).data);
      await pool.query({ name: "insert", text: "insert into rows values ($1, $2)", values: [id, data] });
      return performance.now();
    };
    try {
      await openLoop(ours, 1);
      const results = { countersign: [] as Latency[], plain: [] as Latency[] };
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        progress(`round ${repetition} of ${repetitions}`);
        results.countersign.push(latency(await openLoop(ours, seconds)));
        results.plain.push(latency(await openLoop(plain, seconds)));
      }
      progressDone();
      await requireRows(database.reads.ofAll);
      return summarise(results);
    } finally {
      await runner.stop();
      close();
      await store.close();
      await Promise.all([database.close(), pool.end()]);
    }
  },
};

type Latency = ReturnType<typeof latency>;

/** Starts calls by the clock, also those it is late for, and times them from when they were due. */
async function openLoop(call: () => Promise<number>, seconds: number): Promise<number[]> {
  const began = performance.now();
  const total = perSecond * seconds;
  const calls: Promise<number>[] = [];
  while (calls.length < total) {
    const due = began + (calls.length * 1_000) / perSecond;
    if (due > performance.now()) {
      await sleep(1);
      continue;
    }
    calls.push(call().then((end) => end - due));
  }
  return Promise.all(calls);
}

/** That what was called visible can be read. */
async function requireRows(sql: Sql): Promise<void> {
  const { rows } = await sql.query<{ events: number; rows: number }>(
    "select (select count(*) from es.events) as events, (select count(*) from workspaces) as rows",
  );
  if (rows[0]!.events !== rows[0]!.rows) throw new Error(`${rows[0]!.rows} rows of ${rows[0]!.events} events`);
}

function summarise(results: Record<"countersign" | "plain", Latency[]>): Record<string, unknown> {
  const of = (name: keyof typeof results, which: keyof Latency) => spreadOf(results[name].map((one) => one[which]));
  for (const name of ["countersign", "plain"] as const) {
    console.log(
      `  ${name.padEnd(12)} p50 ${spreadText(of(name, "p50"), "ms")}  p99 ${spreadText(of(name, "p99"), "ms")}`,
    );
  }
  const p99 = of("countersign", "p99").median;
  console.log(`  p99 is ${figure(p99 / of("plain", "p99").median)}x that of a plain INSERT being answered`);
  goal("p99, ms", p99, { atMost: 10 });
  return {
    p50_ms: round(of("countersign", "p50").median, 2),
    p99_ms: round(p99, 2),
    plain_p99_ms: round(of("plain", "p99").median, 2),
  };
}

const workspaceCreated = (id: string) => ({
  type: "WorkspaceCreated",
  data: {
    name: "Bench",
    slug: `bench-${id}`,
    plan: "pro",
    planStatus: "active",
    betaOverride: false,
    createdAt: "2026-01-01T00:00:00.000Z",
  },
  metadata: {
    workspaceId: id,
    actor: { kind: "system" as const, id: "bench" },
    correlationId: id,
    causationId: id,
    at: "2026-01-01T00:00:00.000Z",
  },
});
