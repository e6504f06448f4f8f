import { randomUUID } from "node:crypto";
import pg from "pg";
import { noStream } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { type Bench, type BenchServer, concurrently, type Subject } from "./bench.ts";

/** Appends one event at a time, by one writer and by many. The reference is a plain INSERT of the same row. Both run in this process. */
export const bench: Bench = {
  size: 20_000,
  unit: "appends by 32 writers, a tenth of them by one",
  async run(server, size) {
    const [store, plain] = [await ourStore(server), await plainTable(server)];
    for (const [writers, count] of [
      [1, Math.ceil(size / 10)],
      [32, size],
    ] as const) {
      for (const { name, subject, append } of [store, plain]) {
        await write(append, writers, Math.ceil(count / 5));
        const title = `${name}, ${writers} ${writers === 1 ? "writer" : "writers"}`;
        await server.measure(title, subject, () => write(append, writers, count));
      }
    }
  },
};

type Append = (stream: string, revision: number) => Promise<unknown>;
type Contender = { name: string; subject: Subject; append: Append };

/** Number of events after which a writer begins a new stream. */
const streamLength = 10;

function write(append: Append, writers: number, count: number): Promise<number[]> {
  const streams = Array.from({ length: writers }, () => ({ id: "", next: streamLength }));
  return concurrently(writers, count, (_, writer) => {
    const stream = streams[writer]!;
    if (stream.next === streamLength) Object.assign(stream, { id: randomUUID(), next: 0 });
    return append(`bench-${stream.id}`, stream.next++);
  });
}

/** About 490 bytes a row, like an event of a draft. */
const data = { draftId: randomUUID(), version: 1, contentSha256: "0".repeat(64), note: "x".repeat(80) };
const metadata = {
  ...{ workspaceId: randomUUID(), actor: { kind: "system" as const, id: "bench" } },
  ...{ correlationId: randomUUID(), causationId: randomUUID(), at: "2026-01-01T00:00:00.000Z" },
};
const type = "BenchRan";

async function ourStore(server: BenchServer): Promise<Contender> {
  const database = await server.database();
  await prepareDatabase(database);
  const store = createPostgresEventStore({ connectionString: database.serviceUrl });
  server.atEnd(() => store.close());
  return {
    name: "append",
    subject: { pid: process.pid, database },
    append: (stream, revision) =>
      store.append(stream, revision === 0 ? noStream : revision - 1, [{ id: randomUUID(), type, data, metadata }]),
  };
}

const table = `create table events (
  position bigint generated always as identity primary key, stream_id text not null, revision int not null, event_id uuid not null,
  type text not null, schema_version smallint not null, data json not null, metadata json not null,
  recorded_at timestamptz not null default clock_timestamp())`;
const insert =
  "insert into events (stream_id, revision, event_id, type, schema_version, data, metadata) values ($1, $2, $3, $4, 1, $5, $6)";

/** The reference: PostgreSQL alone, without a revision check. */
export async function plainTable(server: BenchServer): Promise<Contender> {
  const database = await server.database();
  const pool = new pg.Pool({ connectionString: database.ownerUrl, max: 32 });
  pool.on("error", () => {});
  server.atEnd(() => pool.end());
  await pool.query(table);
  return {
    name: "reference: INSERT",
    subject: { pid: process.pid, database },
    append: (stream, revision) =>
      pool.query({
        ...{ name: "insert", text: insert },
        values: [stream, revision, randomUUID(), type, JSON.stringify(data), JSON.stringify(metadata)],
      }),
  };
}
