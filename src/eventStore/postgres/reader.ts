import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { connectionTo } from "#src/platform/postgres/connectionTo.ts";
import { asUnavailable } from "#src/platform/postgres/unavailable.ts";
import type { Metadata, Recorded } from "#streams/event.ts";
import { shareReadsOfOneTurn } from "../batchedReads.ts";
import { type StreamPage, type StreamRange, Unavailable } from "../eventStore.ts";
import { retryPauses } from "../recovery.ts";

export type ReaderOptions = {
  connectionString: string;
  timeoutMs: number;
  connections: number;
  /** Called with every event that was read. */
  onRead: (event: Pick<Recorded, "position" | "id">) => void;
};

export type LogReader = {
  stream(stream: string, fromRevision: number, maxCount: number | undefined): Promise<Recorded[]>;
  streamPage(stream: string, stretch: StreamRange): Promise<StreamPage>;
  last(stream: string): Promise<Recorded | undefined>;
  head(): Promise<number>;
  /** Reads a page of the whole log after a position. Not retried; throws Unavailable if the database is down. */
  page(after: number): Promise<StreamPage>;
  /** Pool of its connections. */
  pool: pg.Pool;
  close(): Promise<void>;
};

type Row = [
  id: string,
  stream: string,
  revision: number,
  position: string,
  type: string,
  version: number,
  data: Record<string, unknown>,
  metadata: Metadata,
  bytesSoFar: string,
];

type Ask = { name: string; text: string; values: unknown[] };

const columns = "event_id, stream_id, revision, position, type, schema_version, data, metadata";
/** Rows with a running total of bytes, cut after the row that reaches $4. */
const readStream = `select ${columns}, bytes_so_far from (
    select ${columns}, bytes, sum(bytes) over (order by revision rows unbounded preceding) as bytes_so_far
    from es.events where stream_id = $1 and revision >= $2::bigint order by revision limit $3
  ) event where $4::bigint is null or bytes_so_far - bytes < $4 order by revision`;
const readLast = `select ${columns} from es.events where stream_id = $1 order by revision desc limit 1`;
const readHead = "select coalesce(max(position), 0) from es.events";
const readPage = `select ${columns}, bytes_so_far from (
    select ${columns}, bytes, sum(bytes) over (order by position rows unbounded preceding) as bytes_so_far
    from es.events where position > $1 order by position limit $2
  ) page where bytes_so_far - bytes < $3`;

/**
 * Statements are planned once per connection, independent of their values, because planning is half of a read's time; and always by an
 * index, even if the log was empty then. The cost of such a plan grows with the log, and would have a long log's reads compiled (jit).
 */
const planning = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off";

/**
 * Maximum number of events and bytes of a page of the log. The page ends after the event that exceeds `bytes`, so that memory never holds
 * five hundred of the largest events.
 */
const page = { events: 500, bytes: 2_000_000 };

export function createReader({ connectionString, timeoutMs, connections, onRead }: ReaderOptions): LogReader {
  const pool = new pg.Pool(
    connectionTo(connectionString, {
      application_name: "countersign log reader",
      options: planning,
      max: connections,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    }),
  );
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));

  /** Runs a named query, which each connection prepares once. */
  async function ask(named: Ask): Promise<Row[]> {
    let client: pg.PoolClient | undefined;
    let failed = true;
    try {
      client = await pool.connect();
      const { rows } = await client.query<Row>({ ...named, rowMode: "array" });
      failed = false;
      return rows;
    } catch (error) {
      throw asUnavailable(error);
    } finally {
      client?.release(failed);
    }
  }

  function recorded(row: Row): Recorded {
    const event = eventOf(row);
    onRead(event);
    return event;
  }

  /** Returns the rows as a page with limits on its events and bytes. */
  const pageOf = (rows: readonly Row[], { events, bytes }: typeof page): StreamPage => ({
    events: rows.map(recorded),
    atEnd: rows.length < events && Number(rows.at(-1)?.[8] ?? 0) < bytes,
  });

  const joined = shareReadsOfOneTurn();

  /** Retries a read, which changes nothing. Concurrent callers of the same read share its rows. */
  const askForSure = (query: Ask): Promise<readonly Row[]> =>
    joined(`${query.name} ${JSON.stringify(query.values)}`, () => untilAnswered(() => ask(query)));

  async function untilAnswered(read: () => Promise<Row[]>): Promise<Row[]> {
    const deadline = performance.now() + timeoutMs;
    for (const pause = retryPauses(); ; await sleep(pause.next())) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof Unavailable) || pool.ending || performance.now() >= deadline) throw error;
      }
    }
  }

  return {
    pool,
    stream: async (stream, from, count) =>
      (await askForSure({ name: "stream", text: readStream, values: [stream, from, count, null] })).map(recorded),
    async streamPage(stream, { from, events, bytes }) {
      const rows = await askForSure({ name: "stream", text: readStream, values: [stream, from, events, bytes] });
      return pageOf(rows, { events, bytes });
    },
    last: async (stream) => (await askForSure({ name: "last", text: readLast, values: [stream] })).map(recorded)[0],
    head: async () => Number((await askForSure({ name: "head", text: readHead, values: [] }))[0]?.[0]),
    page: async (after) =>
      pageOf(await ask({ name: "page", text: readPage, values: [after, page.events, page.bytes] }), page),
    // A hanging query is waited for no longer than for its answer.
    close: () => Promise.race([pool.end(), sleep(timeoutMs, undefined, { ref: false })]),
  };
}

const eventOf = ([id, stream, revision, position, type, schemaVersion, data, metadata]: Row): Recorded => ({
  id,
  type,
  schemaVersion,
  data,
  metadata,
  stream,
  revision,
  position: Number(position),
});
