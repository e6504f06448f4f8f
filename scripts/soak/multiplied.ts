import { randomUUID } from "node:crypto";
import pg from "pg";
import type { World } from "./world.ts";

type Stored = { stream_id: string; revision: number; type: string; schema_version: number; data: any; metadata: any };
type Copied = Stored & { position: number };

const batchBytes = 8_000_000;

/**
 * Writes what one request or mail caused (all events of its correlation) so many times more behind the log's end, as if it had come again:
 * with other ids in place of `renewed`, and the next revisions and numbers. No service may run meanwhile; what processes would do about the copies
 * counts as done. Answers how many events that were; throws where nothing was caused.
 */
export async function multiply(
  world: World,
  {
    correlationId,
    renewed,
    times,
    onProgress,
  }: { correlationId: string; renewed: readonly string[]; times: number; onProgress(copies: number): void },
): Promise<number> {
  const caused = await world.rows<Stored>(
    `select stream_id, revision, type, schema_version, data, metadata from es.events
     where metadata ->> 'correlationId' = $1 order by position`,
    [correlationId],
  );
  if (caused.length === 0) throw new Error(`nothing to copy: no event has the correlation ${correlationId}`);
  const ends = await endsOf(world, [...new Set(caused.map(({ stream_id }) => stream_id))]);
  const [{ head }] = (await world.rows<{ head: number }>("select max(position)::int as head from es.events")) as [
    { head: number },
  ];
  const client = new pg.Client(await world.ownerUrl());
  await client.connect();
  let position = head;
  let batch: Copied[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await insert(client, batch);
    batch = [];
    bytes = 0;
  };
  for (let copy = 1; copy <= times; copy++) {
    const ids = renewed.map((id) => [id, id.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, randomUUID())] as const);
    const anew = (text: string): string => ids.reduce((so, [from, to]) => so.replaceAll(from, to), text);
    let inboxPosition = 0;
    for (const event of caused) {
      position += 1;
      const stream_id = anew(event.stream_id);
      const text = anew(JSON.stringify(event.data));
      const data = JSON.parse(text);
      if (event.type === "MailReceived") inboxPosition = position;
      if ("number" in data) data.number += copy;
      if ("inboxRevision" in data) data.inboxRevision += copy;
      if ("inboxPosition" in data) data.inboxPosition = inboxPosition;
      const revision = stream_id === event.stream_id ? ends.next(stream_id) : event.revision;
      batch.push({ ...event, position, stream_id, revision, data });
      bytes += text.length;
    }
    if (bytes < batchBytes) continue;
    await flush();
    onProgress(copy);
  }
  await flush();
  await client.query("update work.front set position = $1", [position]);
  await client.query("analyze es.events");
  await client.end();
  return position - head;
}

/** Gives out the revisions behind the ends of these streams. */
async function endsOf(world: World, streams: readonly string[]) {
  const rows = await world.rows<{ stream_id: string; last: number }>(
    "select stream_id, max(revision) as last from es.events where stream_id = any($1) group by 1",
    [streams],
  );
  const ends = new Map(rows.map(({ stream_id, last }) => [stream_id, last]));
  return {
    next(stream: string): number {
      const revision = ends.get(stream)! + 1;
      ends.set(stream, revision);
      return revision;
    },
  };
}

async function insert(client: pg.Client, events: readonly Copied[]): Promise<void> {
  await client.query(
    `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
     select position, stream_id, revision, gen_random_uuid(), type, schema_version, data::json, metadata::json,
       octet_length(data) + octet_length(metadata)
     from unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::int[], $6::text[], $7::text[])
       as e (position, stream_id, revision, type, schema_version, data, metadata)`,
    [
      events.map(({ position }) => position),
      events.map(({ stream_id }) => stream_id),
      events.map(({ revision }) => revision),
      events.map(({ type }) => type),
      events.map(({ schema_version }) => schema_version),
      events.map(({ data }) => JSON.stringify(data)),
      events.map(({ metadata }) => JSON.stringify(metadata)),
    ],
  );
}
