import { projections } from "#projections/index.ts";
import type { Projection, ProjectorTx } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase, type Database } from "#src/postgres/database.ts";
import { type Place, writeBatch } from "#src/subscriptions/checkpoints.ts";
import {
  createLateIndexes,
  ensureTables,
  liveSchema,
  serviceRoleOf,
  tablesFile,
} from "#src/subscriptions/projectionTables.ts";
import type { Bench } from "./bench.ts";
import { makeMailLog } from "./mailLog.ts";
import { figure, goal, progress, progressDone, round, spreadOf, spreadText } from "./measure.ts";

const eventCount = 100_000;
const batchSize = 1_000;

/**
 * All read models from nothing, as after a new version of each. Beside it the log merely read, which is the most there could be; and the
 * read models without full-text search, which says what that costs.
 */
export const bench: Bench = {
  title: "catchup: the log into all read models",
  repetitions: 3,
  async run({ server, repetitions }) {
    const { urls, source } = await makeMailLog(server, eventCount);
    const database = connectDatabase(urls);
    const store = createPostgresEventStore({ connectionString: urls.serviceUrl });
    const rates = {
      "all read models": [] as number[],
      "without full text": [] as number[],
      "only read": [] as number[],
    };
    const spent = new Map<string, Spent>();
    let events = 0;
    try {
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        progress(`round ${repetition} of ${repetitions}`);
        const read = await replay(store, async () => {});
        events = read.events;
        rates["only read"].push(read.rate);
        const rest = projections.filter(({ name }) => name !== "search");
        rates["without full text"].push((await fill(store, database, rest)).rate);
        const watched = projections.map((projection) => timed(projection, spent));
        rates["all read models"].push((await fill(store, database, watched)).rate);
      }
      progressDone();
    } finally {
      await store.close();
      await database.close();
    }
    console.log(`  ${events} events, from ${source} and drafts on them, ${batchSize} a batch`);
    for (const [name, all] of Object.entries(rates))
      console.log(`  ${name.padEnd(18)} ${spreadText(spreadOf(all), "events/s")}`);
    const times = reportSpent(spent, repetitions);
    const rate = spreadOf(rates["all read models"]).median;
    goal("events/s into all read models", rate, { atLeast: 50_000 });
    return {
      events,
      events_per_s: round(rate),
      events_per_s_without_full_text: round(spreadOf(rates["without full text"]).median),
      events_per_s_only_read: round(spreadOf(rates["only read"]).median),
      milliseconds: times,
    };
  },
};

/** In milliseconds: inside the database's answers, and the rest. */
type Spent = { sql: number; own: number };

async function replay(store: EventStore, write: Parameters<typeof writeBatches>[1], finish = async () => {}) {
  const began = performance.now();
  const events = await writeBatches(store, write);
  await finish();
  return { events, rate: (events / (performance.now() - began)) * 1_000 };
}

async function writeBatches(
  store: EventStore,
  write: (batch: Parameters<typeof writeBatch>[2]) => Promise<void>,
): Promise<number> {
  const head = await store.head();
  let events = 0;
  for await (const batch of store.subscribe({ after: 0, batchSize, signal: new AbortController().signal })) {
    await write(batch);
    events += batch.events.length;
    if (batch.position >= head) break;
  }
  return events;
}

async function fill(store: EventStore, database: Database, all: readonly Projection[]) {
  const tables = projections.flatMap((projection) => projection.tables).map((table) => `read.${table}`);
  await database.owner.query(`drop table if exists ${tables.join(", ")} cascade`);
  await database.owner.query("delete from work.checkpoints");
  const serviceRole = await serviceRoleOf(database);
  for (const projection of all) {
    await ensureTables(database, { projection, ddl: await tablesFile(projection), serviceRole });
  }
  const places: Place[] = all.map((projection) => ({ projection, position: 0 }));
  return replay(
    store,
    (batch) => writeBatch(database, places, batch),
    async () => {
      for (const projection of all) await createLateIndexes(database.owner, liveSchema, projection);
    },
  );
}

/** The same projection, its time added up. */
function timed(projection: Projection, spent: Map<string, Spent>): Projection {
  return {
    ...projection,
    async project(tx, events) {
      const total = spent.get(projection.name) ?? { sql: 0, own: 0 };
      spent.set(projection.name, total);
      let sql = 0;
      const watched: ProjectorTx = {
        write: tx.write,
        async query(text, values) {
          const began = performance.now();
          try {
            return await tx.query(text, values);
          } finally {
            sql += performance.now() - began;
          }
        },
      };
      const began = performance.now();
      await projection.project(watched, events);
      total.sql += sql;
      total.own += performance.now() - began - sql;
    },
  };
}

function reportSpent(spent: ReadonlyMap<string, Spent>, repetitions: number): Record<string, Spent> {
  const all = [...spent].map(([name, { sql, own }]): [string, Spent] => [
    name,
    { sql: round(sql / repetitions), own: round(own / repetitions) },
  ]);
  all.sort(([, a], [, b]) => b.sql + b.own - a.sql - a.own);
  for (const [name, { sql, own }] of all) {
    console.log(
      `    ${name.padEnd(12)} ${figure(sql)} ms waiting for what it asked, ${figure(own)} ms in the projector`,
    );
  }
  return Object.fromEntries(all);
}
