import pg from "pg";
import type { World } from "./world.ts";

type Stored = { stream_id: string; revision: number; type: string; schema_version: number; data: any; metadata: any };

const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/;
/** Written at once. */
const batchBytes = 20_000_000;

export type Multiplied = {
  correlationId: string;
  /** Ids, or texts that hold one: each copy has others. */
  renewed: readonly string[];
  times: number;
  onProgress(copies: number): void;
};

/**
 * Writes what one request or mail caused (all events of its correlation) so many times more behind the log's end, as if it had come again:
 * with other ids in place of `renewed`, and the next revisions and numbers. No service may run meanwhile; what processes would do about the copies
 * counts as done. Answers how many events that were; throws where nothing was caused.
 */
export async function multiply(
  world: World,
  { correlationId, renewed, times, onProgress }: Multiplied,
): Promise<number> {
  const caused = await world.rows<Stored>(
    `select stream_id, revision, type, schema_version, data, metadata from es.events
     where metadata ->> 'correlationId' = $1 order by position`,
    [correlationId],
  );
  if (caused.length === 0) throw new Error(`nothing to copy: no event has the correlation ${correlationId}`);
  const ids = renewed.map((text) => uuid.exec(text)![0]);
  const patterns = patternsOf(caused, { ids, ends: await endsOf(world, caused) });
  const [before] = await world.rows<{ head: number }>("select max(position)::int as head from es.events");
  const head = before!.head;
  const copiesAtOnce = Math.max(1, Math.floor(batchBytes / JSON.stringify(patterns).length));
  const client = new pg.Client(await world.ownerUrl());
  await client.connect();
  try {
    for (let done = 0; done < times; done += copiesAtOnce) {
      const upTo = Math.min(times, done + copiesAtOnce);
      await client.query(insertSql(ids.length), [JSON.stringify(patterns), head, done + 1, upTo]);
      onProgress(upTo);
    }
    await client.query("update work.front set position = $1", [head + times * caused.length]);
    // As autovacuum does while a log grows; statistics, and what is visible to all.
    await client.query("vacuum analyze es.events").catch(() => client.query("analyze es.events"));
  } finally {
    await client.end();
  }
  return times * caused.length;
}

/** Of each event: what every copy shares, with marks where a copy has something of its own. */
function patternsOf(
  caused: readonly Stored[],
  { ids, ends }: { ids: readonly string[]; ends: ReadonlyMap<string, number> },
) {
  const marked = (text: string): string => ids.reduce((so, id, n) => so.replaceAll(id, `@id${n}@`), text);
  const received = caused.findIndex(({ type }) => type === "MailReceived");
  const countOf = (stream: string) => caused.filter(({ stream_id }) => stream_id === stream).length;
  const seen = new Map<string, number>();
  return caused.map(({ stream_id, revision, type, schema_version, data, metadata }, at) => {
    const before = seen.get(stream_id) ?? 0;
    seen.set(stream_id, before + 1);
    const isNew = marked(stream_id) !== stream_id;
    return {
      at,
      type,
      schema_version,
      received,
      of: caused.length,
      stream: marked(stream_id),
      revision: isNew ? revision : ends.get(stream_id)! + 1 + before,
      step: isNew ? 0 : countOf(stream_id),
      number: data.number ?? 0,
      inbox_revision: data.inboxRevision ?? 0,
      data: marked(JSON.stringify(withMarks(data))),
      metadata: JSON.stringify(metadata),
    };
  });
}

const marks = { number: "@number@", inboxRevision: "@inbox-revision@", inboxPosition: "@inbox-position@" };

const withMarks = (data: object): object =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, key in marks ? marks[key as keyof typeof marks] : value]),
  );

/** Parameters: the patterns as JSON, the log's end before the first copy, the first and the last copy. */
function insertSql(ids: number): string {
  let stream = "stream";
  let data = "data";
  for (let n = 0; n < ids; n++) {
    const anew = `md5(copy || ' ${n} ' || $2)::uuid::text`;
    stream = `replace(${stream}, '@id${n}@', ${anew})`;
    data = `replace(${data}, '@id${n}@', ${anew})`;
  }
  const numbers = {
    [marks.number]: "number + copy",
    [marks.inboxRevision]: "inbox_revision + copy",
    [marks.inboxPosition]: "$2::bigint + (copy - 1) * of + received + 1",
  };
  for (const [mark, value] of Object.entries(numbers)) data = `replace(${data}, '"${mark}"', (${value})::text)`;
  return `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
    select position, stream_id, revision, gen_random_uuid(), type, schema_version, data::json, metadata::json,
      octet_length(data) + octet_length(metadata)
    from (
      select $2::bigint + (copy - 1) * of + at + 1 as position, ${stream} as stream_id, revision + (copy - 1) * step as revision,
        type, schema_version, ${data} as data, metadata
      from generate_series($3::int, $4::int) as copy,
        json_to_recordset($1) as pattern (at int, type text, schema_version int, received int, of int, stream text, revision int, step int,
          number int, inbox_revision int, data text, metadata text)
      offset 0) as copied
    order by position`;
}

/** The last revision of each stream of these events. */
async function endsOf(world: World, events: readonly Stored[]): Promise<Map<string, number>> {
  const rows = await world.rows<{ stream_id: string; last: number }>(
    "select stream_id, max(revision) as last from es.events where stream_id = any($1) group by 1",
    [[...new Set(events.map(({ stream_id }) => stream_id))]],
  );
  return new Map(rows.map(({ stream_id, last }) => [stream_id, last]));
}
