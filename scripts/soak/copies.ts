import { randomUUID } from "node:crypto";
import pg from "pg";
import type { Installation } from "#test/support/installation.ts";

type StoredRow = { stream: string; revision: number; type: string; schema_version: number; data: any; metadata: any };

const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/;
/** Characters that are written at once. */
const batchLength = 10_000_000;

export type Copying = {
  correlationId: string;
  /** Ids, or texts that contain one, that are replaced in each copy. */
  renewed: readonly string[];
  times: number;
  onProgress(copies: number): void;
};

/**
 * Appends `times` copies of all events that one request or mail caused, as if it had happened again: with new ids for `renewed`, and the
 * next revisions and numbers. No service may run meanwhile. Processes find nothing to do about the copies. Returns the number of events
 * written.
 */
export async function copyCaused(
  { rows, urls }: Installation,
  { correlationId, renewed, times, onProgress }: Copying,
): Promise<number> {
  const caused = await rows<StoredRow>(
    `select stream_id as stream, revision, type, schema_version, data, metadata from es.events
     where metadata ->> 'correlationId' = $1 order by position`,
    [correlationId],
  );
  const ids = renewed.map((text) => uuid.exec(text)![0]);
  const lasts = await rows<{ stream: string; last: number }>(
    "select stream_id as stream, max(revision)::int as last from es.events where stream_id = any($1) group by 1",
    [caused.map(({ stream }) => stream)],
  );
  const revisions = new Map(lasts.map(({ stream, last }) => [stream, last]));
  const [head] = await rows<{ position: number }>("select max(position)::int as position from es.events");
  const receivedAt = caused.findIndex(({ type }) => type === "MailReceived");
  let position = head!.position;

  /** Makes one more copy, as rows of the log. */
  function copy(number: number): unknown[][] {
    const others = new Map(ids.map((id) => [id, randomUUID()]));
    const renewedIn = (text: string): string => ids.reduce((so, id) => so.replaceAll(id, others.get(id)!), text);
    const numbered = (data: any) => ({
      ...data,
      ...("number" in data && { number: data.number + number }),
      ...("inboxRevision" in data && { inboxRevision: data.inboxRevision + number }),
      ...("inboxPosition" in data && { inboxPosition: before + receivedAt + 1 }),
    });
    const before = position;
    return caused.map(({ stream, type, schema_version, data, metadata, ...event }) => {
      const isNew = renewedIn(stream) !== stream;
      const revision = isNew ? event.revision : revisions.get(stream)! + 1;
      if (!isNew) revisions.set(stream, revision);
      const text = renewedIn(JSON.stringify(numbered(data)));
      return [
        ++position,
        renewedIn(stream),
        revision,
        randomUUID(),
        type,
        schema_version,
        text,
        JSON.stringify(metadata),
      ];
    });
  }

  const client = new pg.Client(await urls().then(({ ownerUrl }) => ownerUrl));
  await client.connect();
  try {
    for (let done = 0; done < times; ) {
      const batch: unknown[][] = [];
      for (let length = 0; length < batchLength && done < times; done++) {
        const made = copy(done + 1);
        batch.push(...made);
        length += JSON.stringify(made).length;
      }
      await client.query(insert, columns(batch));
      onProgress(done);
    }
    await client.query("update work.front set position = $1", [position]);
    // Autovacuum does the same while a log grows.
    await client.query("vacuum analyze es.events").catch(() => client.query("analyze es.events"));
  } finally {
    await client.end();
  }
  return times * caused.length;
}

const columns = (rows: readonly unknown[][]): unknown[][] =>
  rows[0]!.map((_, column) => rows.map((row) => row[column]));

const insert = `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
  select position, stream, revision, id, type, schema_version, data::json, metadata::json, octet_length(data) + octet_length(metadata)
  from unnest($1::bigint[], $2::text[], $3::int[], $4::uuid[], $5::text[], $6::int[], $7::text[], $8::text[])
    as e (position, stream, revision, id, type, schema_version, data, metadata)`;
