import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { asUnavailable } from "#src/postgres/unavailable.ts";
import type { Metadata, Recorded } from "#streams/event.ts";
import { type StreamPage, type Stretch, Unavailable } from "../eventStore.ts";
import { sharingAnswers } from "../sharedAnswers.ts";
import { groupingReads, type Wanted } from "./groupedReads.ts";
import { pauses } from "./recovery.ts";

export type ReaderOptions = {
  connectionString: string;
  timeoutMs: number;
  connections: number;
  /** Told of every event that was read. */
  onRead: (event: Pick<Recorded, "position" | "id">) => void;
};

/** A stretch of the log, in order, and how far it reaches: over what was left out by category too. */
export type Page = { events: Recorded[]; position: number };
export type PageRequest = { after: number; upTo: number; categories: readonly string[] | undefined; limit: number };

export type Reader = {
  stream(stream: string, fromRevision: number, maxCount: number | undefined): Promise<Recorded[]>;
  streamPage(stream: string, stretch: Stretch): Promise<StreamPage>;
  last(stream: string): Promise<Recorded | undefined>;
  head(): Promise<number>;
  /** Not retried; throws Unavailable if the database is away. */
  page(request: PageRequest): Promise<Page>;
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

/** `query_timeout`: in milliseconds, the reader's own unless it is given. */
type Ask = { name: string; text: string; values: unknown[]; query_timeout?: number };

const columns = "event_id, stream_id, revision, position, type, schema_version, data, metadata";
/** From $1 on: rows of one stream with the bytes that each and those before it have. */
const stretchOf = (stream: string, first: string, count: string): string => `
    select ${columns}, bytes, sum(bytes) over (order by revision rows unbounded preceding) as bytes_so_far
    from es.events where stream_id = ${stream} and revision >= ${first} order by revision limit ${count}`;
const readStream = `select ${columns}, bytes_so_far from (${stretchOf("$1", "$2::bigint", "$3")}
  ) event where $4::bigint is null or bytes_so_far - bytes < $4 order by revision`;
const readStreamsFrom = (first: string): string => `select wanted.number, ${columns}, bytes_so_far
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as wanted (stream, first, count, number)
  cross join lateral (${stretchOf("wanted.stream", first, "least(wanted.count, $4)")}
  ) event where bytes_so_far - bytes < $5 order by wanted.number, revision`;
const readStreams = readStreamsFrom("wanted.first");
/** Of those without a first revision the last event. */
const readStreamsAndLasts = readStreamsFrom(`coalesce(wanted.first, (
      select max(revision) from es.events tail where tail.stream_id = wanted.stream))`);
const readLast = `select ${columns} from es.events where stream_id = $1 order by revision desc limit 1`;
const readHead = "select coalesce(max(position), 0) from es.events";
const readPage = (where: string): string => `select ${columns}, bytes_so_far from (
    select ${columns}, bytes, sum(bytes) over (order by position rows unbounded preceding) as bytes_so_far
    from es.events where position > $1 and position <= $2 ${where} order by position limit $3
  ) page where bytes_so_far - bytes < $4`;
const readPageOfAll = readPage("");
const readPageOfCategories = readPage("and split_part(stream_id, '-', 1) = any ($5)");

/**
 * Plans are made once a connection, for whatever is asked, which takes half of a read's time otherwise; and by an index, also where they
 * were made while the log was empty.
 */
const planning = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off";

/** A page is cut behind the event that makes it this large, so that five hundred of the largest events are not in memory at once. */
const maxPageBytes = 8_000_000;
/** Of one stream, where several are read at once: one with more is read alone. */
const mostGroupedBytes = 256 * 1024;

export function createReader({ connectionString, timeoutMs, connections, onRead }: ReaderOptions): Reader {
  const pool = new pg.Pool({
    connectionString,
    application_name: "countersign log reader",
    options: planning,
    max: connections,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
  });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));

  // A page may have to pass a hundred thousand events of other categories.
  const pageTimeoutMs = 2 * timeoutMs;

  /** Under its name a connection prepares it once. */
  async function ask<R extends unknown[] = Row>({ query_timeout = timeoutMs, ...named }: Ask): Promise<R[]> {
    let client: pg.PoolClient | undefined;
    let failed = true;
    try {
      client = await pool.connect();
      const query = { ...named, rowMode: "array", query_timeout } as const;
      const { rows } = await client.query<R>(query);
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

  const shared = sharingAnswers();

  /** Reading changes nothing, so it is simply tried again. The same rows for all who asked at once. */
  const askForSure = (query: Ask): Promise<readonly Row[]> =>
    shared(`${query.name} ${JSON.stringify(query.values)}`, () => untilAnswered(() => ask(query)));

  async function untilAnswered(read: () => Promise<Row[]>): Promise<Row[]> {
    const deadline = performance.now() + timeoutMs;
    for (const pause = pauses(); ; await sleep(pause.next())) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof Unavailable) || pool.ending || performance.now() >= deadline) throw error;
      }
    }
  }

  const readGrouped = groupingReads<Row>({
    alone: ({ stream, from, count, bytes }) =>
      from === undefined
        ? ask({ name: "last", text: readLast, values: [stream] })
        : ask({ name: "stream", text: readStream, values: [stream, from, count, bytes] }),
    async together(wanted, each) {
      const streams = wanted.map(({ stream }) => stream);
      const firsts = wanted.map(({ from = null }) => from);
      const values = [streams, firsts, wanted.map(({ count = null }) => count), each, mostGroupedBytes];
      const query = firsts.includes(null)
        ? { name: "streamsAndLasts", text: readStreamsAndLasts }
        : { name: "streams", text: readStreams };
      const found = wanted.map((): Row[] => []);
      for (const [number, ...row] of await ask<[number: string, ...Row]>({ ...query, values }))
        found[Number(number) - 1]!.push(row);
      return found.map((rows) => (bytesIn(rows) < mostGroupedBytes ? rows : undefined));
    },
  });

  const streamForSure = (wanted: Wanted): Promise<readonly Row[]> =>
    shared(JSON.stringify(wanted), () => untilAnswered(() => readGrouped(wanted)));

  return {
    stream: async (stream, from, count) => (await streamForSure({ stream, from, count })).map(recorded),
    async streamPage(stream, { from, events, bytes }) {
      const read = await streamForSure({ stream, from, count: events, bytes });
      // Read in a group, it may be longer.
      const full = read.findIndex((row) => Number(row[8]) >= bytes);
      const rows = full < 0 ? read : read.slice(0, full + 1);
      return { events: rows.map(recorded), atEnd: full < 0 && rows.length < events };
    },
    last: async (stream) => (await streamForSure({ stream, from: undefined, count: 1 })).map(recorded)[0],
    head: async () => Number((await askForSure({ name: "head", text: readHead, values: [] }))[0]?.[0]),
    async page({ after, upTo, categories, limit }) {
      const values = [after, upTo, limit, maxPageBytes];
      const query = categories
        ? { name: "pageOfCategories", text: readPageOfCategories, values: [...values, categories] }
        : { name: "pageOfAll", text: readPageOfAll, values };
      const rows = await ask({ ...query, query_timeout: pageTimeoutMs });
      const events = rows.map(recorded);
      const bytes = Number(rows.at(-1)?.[8] ?? 0);
      const cut = rows.length === limit || bytes >= maxPageBytes;
      return { events, position: cut ? events.at(-1)!.position : upTo };
    },
    // A query that hangs is not waited for longer than for its answer.
    close: () => Promise.race([pool.end(), sleep(timeoutMs, undefined, { ref: false })]),
  };
}

/** Of all these rows of one stream. */
const bytesIn = (rows: readonly Row[]): number => Number(rows.at(-1)?.[8] ?? 0);

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
