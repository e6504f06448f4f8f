import { randomUUID } from "node:crypto";
import pg from "pg";
import { type EventStore, type NewEvent, noStream } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import type { Bench } from "./bench.ts";
import { type Emmett, openEmmett } from "./emmett/open.ts";
import { figure, goal, latency, progress, progressDone, round, sideBySide, spreadOf, spreadText } from "./measure.ts";
import type { BenchServer } from "./server.ts";

/** One event an append, by so many writers at once: this store, a plain INSERT of the same row, and emmett, in turns on one server. */
export const bench: Bench = {
  title: "append: one event at a time",
  repetitions: 5,
  async run({ server, repetitions, seconds = 1 }) {
    const stores = await openStores(server);
    try {
      const fast = await measure(stores.all, { writers: [1, 8, 32, 128], repetitions, seconds });
      report("as the disk is", fast);
      await diskWaits(server, 2_000);
      const slow = await measure(stores.all.slice(0, 2), {
        writers: [32, 128],
        repetitions: Math.min(repetitions, 3),
        seconds,
      });
      await diskWaits(server, 0);
      report("every commit 2 ms slower (commit_delay)", slow);
      return summarise(fast, slow);
    } finally {
      await stores.close();
    }
  },
};

/** Appends one event; each call of one writer continues the stream that this writer is on. */
type Contender = { name: "countersign" | "plain" | "emmett"; append(stream: string, place: number): Promise<unknown> };
type Result = { name: string; writers: number; rates: number[]; p99s: number[] };

/** After so many events a writer goes on with a new stream. */
const streamLength = 10;

async function measure(
  contenders: Contender[],
  { writers, repetitions, seconds }: { writers: number[]; repetitions: number; seconds: number },
) {
  const results: Result[] = [];
  for (const count of writers) {
    const these = contenders.map(({ name }) => ({ name, writers: count, rates: [] as number[], p99s: [] as number[] }));
    results.push(...these);
    for (let repetition = 0; repetition < repetitions; repetition++) {
      for (const [index, contender] of contenders.entries()) {
        progress(`${count} writers, round ${repetition + 1} of ${repetitions}: ${contender.name}`);
        await load(contender, count, 200);
        const { rate, p99 } = await load(contender, count, seconds * 1_000);
        these[index]!.rates.push(rate);
        these[index]!.p99s.push(p99);
      }
    }
  }
  progressDone();
  return results;
}

async function load(contender: Contender, writers: number, ms: number): Promise<{ rate: number; p99: number }> {
  const times: number[] = [];
  const began = performance.now();
  await sideBySide(writers, async () => {
    let stream = "";
    for (let made = 0; performance.now() - began < ms; made++) {
      if (made % streamLength === 0) stream = randomUUID();
      const start = performance.now();
      await contender.append(`bench-${stream}`, made % streamLength);
      times.push(performance.now() - start);
    }
  });
  return { rate: (times.length / (performance.now() - began)) * 1_000, p99: latency(times).p99 };
}

function report(heading: string, results: readonly Result[]): void {
  console.log(`\n  ${heading}: appends a second, median (min–max)`);
  for (const { name, writers, rates, p99s } of results) {
    const plain = results.find((other) => other.name === "plain" && other.writers === writers)!;
    const times = spreadOf(rates).median / spreadOf(plain.rates).median;
    console.log(
      `  ${String(writers).padStart(4)} writers  ${name.padEnd(12)} ${spreadText(spreadOf(rates), "/s").padEnd(36)} p99 ${figure(spreadOf(p99s).median)} ms  ${figure(times)}x plain`,
    );
  }
}

function summarise(fast: Result[], slow: Result[]): Record<string, unknown> {
  const rate = (results: Result[], name: string, writers: number): number =>
    spreadOf(results.find((result) => result.name === name && result.writers === writers)?.rates ?? []).median;
  const ours = rate(fast, "countersign", 32);
  const p99 = spreadOf(fast.find((result) => result.name === "countersign" && result.writers === 32)!.p99s).median;
  const toPlain = ours / rate(fast, "plain", 32);
  const toEmmett = ours / rate(fast, "emmett", 32);
  const delayed = rate(slow, "countersign", 32) / rate(slow, "plain", 32);
  console.log();
  goal("at 32 writers, times plain INSERT", toPlain, { atLeast: 1.4 });
  if (!Number.isNaN(toEmmett)) goal("at 32 writers, times emmett", toEmmett, { atLeast: 6 });
  goal("p99 at 32 writers, ms", p99, { atMost: 3 });
  goal("with 2 ms commit delay, times plain INSERT", delayed, { atLeast: 0.65 });
  const rates = (results: Result[]) =>
    results.map(({ name, writers, rates: all }) => ({ name, writers, ...rounded(spreadOf(all)) }));
  return {
    times_plain: round(toPlain, 2),
    times_emmett: Number.isNaN(toEmmett) ? null : round(toEmmett, 2),
    p99_ms: round(p99, 2),
    times_plain_delayed: round(delayed, 2),
    rates: rates(fast),
    rates_delayed: rates(slow),
  };
}

const rounded = ({ median, min, max }: ReturnType<typeof spreadOf>) => ({
  median: round(median),
  min: round(min),
  max: round(max),
});

async function openStores(server: BenchServer) {
  const ours = createPostgresEventStore({ connectionString: (await server.database()).serviceUrl });
  const plainUrl = (await server.database({ migrated: false })).ownerUrl;
  const pool = new pg.Pool({ connectionString: plainUrl, max: 32 });
  pool.on("error", () => {});
  await pool.query(plainTable);
  const emmett = await openEmmett((await server.database({ migrated: false })).ownerUrl);
  const all = [contestOurs(ours), contestPlain(pool), ...(emmett ? [contestEmmett(emmett.store)] : [])];
  return {
    all,
    async close() {
      await Promise.all([ours.close(), pool.end(), emmett?.close()]);
    },
  };
}

/** About 490 bytes a row, as an event of a draft's life has. */
const data = { draftId: randomUUID(), version: 1, contentSha256: "0".repeat(64), note: "x".repeat(80) };
const metadata: NewEvent["metadata"] = {
  workspaceId: randomUUID(),
  actor: { kind: "system", id: "bench" },
  correlationId: randomUUID(),
  causationId: randomUUID(),
  at: "2026-01-01T00:00:00.000Z",
};

const contestOurs = (store: EventStore): Contender => ({
  name: "countersign",
  append: (stream, place) =>
    store.append(stream, place === 0 ? noStream : place - 1, [{ id: randomUUID(), type: "BenchTold", data, metadata }]),
});

const plainTable = `create table events (
  position bigint generated always as identity primary key, stream_id text not null, revision int not null, event_id uuid not null,
  type text not null, schema_version smallint not null, data json not null, metadata json not null,
  recorded_at timestamptz not null default clock_timestamp())`;

const contestPlain = (pool: pg.Pool): Contender => ({
  name: "plain",
  append: (stream, place) =>
    pool.query({
      name: "insert",
      text: "insert into events (stream_id, revision, event_id, type, schema_version, data, metadata) values ($1, $2, $3, $4, $5, $6, $7)",
      values: [stream, place, randomUUID(), "BenchTold", 1, JSON.stringify(data), JSON.stringify(metadata)],
    }),
});

const contestEmmett = (store: Emmett): Contender => ({
  name: "emmett",
  append: (stream, place) =>
    store.appendToStream(stream, [{ type: "BenchTold", data, metadata }], {
      expectedStreamVersion: place === 0 ? "STREAM_DOES_NOT_EXIST" : BigInt(place),
    }),
});

/** Makes every commit wait, as a slower disk would. */
async function diskWaits(server: BenchServer, microseconds: number): Promise<void> {
  await server.admin(`alter system set commit_delay = ${microseconds}`);
  await server.admin("alter system set commit_siblings = 0");
  await server.admin("select pg_reload_conf()");
}
