import pg from "pg";
import { mails } from "./corpus.ts";
import { sendAll, startBenchInstance, untilFiled } from "./instance.ts";
import { answerThreads } from "./job.ts";
import { progress } from "./measure.ts";
import type { BenchServer } from "./server.ts";

type Row = Record<"stream_id" | "event_id" | "type" | "data" | "metadata", string> & {
  revision: number;
  schema_version: number;
};

const mailCount = 500;
const replyCount = 100;
/** Ids and hashes are what tells one copy of the log from another; message ids live inside one identity anyway. */
const ids = /\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64})\b/g;

/** Makes a database with a log of at least so many events: mail and drafts through the real service, copied under other ids. */
export async function makeMailLog(server: BenchServer, events: number) {
  const corpus = await mails(mailCount);
  const instance = await startBenchInstance(server);
  progress(`making a log: ${mailCount} mails in, ${replyCount} replies out`);
  const identity = await instance.client.identity();
  await sendAll(instance.smtpPort, corpus.mails, [identity.email_address]);
  await untilFiled(instance, mailCount);
  await answerThreads(instance, { identityId: identity.id, most: replyCount });
  await instance.stop();
  await multiply(instance.urls.ownerUrl, events);
  return { urls: instance.urls, source: corpus.source };
}

async function multiply(ownerUrl: string, events: number): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Row>(
      `select stream_id, revision, event_id, type, schema_version, data::text as data, metadata::text as metadata
       from es.events order by position`,
    );
    // Streams without an id in their name cannot be told apart, and an API key's hash is not to be had twice.
    const copied = rows.filter(({ stream_id }) => stream_id.match(ids) && !stream_id.startsWith("apiKey-"));
    for (let copy = 1, made = rows.length; made < events; copy++, made += copied.length) {
      progress(`making a log: ${made} of ${events} events`);
      await insert(client, copied, copy);
    }
    await client.query("analyze es.events");
  } finally {
    await client.end();
  }
}

async function insert(client: pg.Client, rows: readonly Row[], copy: number): Promise<void> {
  const renamed = (text: string): string => text.replace(ids, (id) => shifted(id, copy));
  for (let from = 0; from < rows.length; from += 500) {
    const part = rows.slice(from, from + 500);
    await client.query(
      `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
       select (select max(position) from es.events) + n, stream, revision, id, type, version, data::json, metadata::json,
         octet_length(data) + octet_length(metadata)
       from unnest($1::text[], $2::int[], $3::uuid[], $4::text[], $5::smallint[], $6::text[], $7::text[])
         with ordinality as e (stream, revision, id, type, version, data, metadata, n)`,
      [
        part.map((row) => renamed(row.stream_id)),
        part.map((row) => row.revision),
        part.map((row) => renamed(row.event_id)),
        part.map((row) => row.type),
        part.map((row) => row.schema_version),
        part.map((row) => renamed(row.data)),
        part.map((row) => renamed(row.metadata)),
      ],
    );
  }
}

/** In the last digits: those in front order ids by time. */
const shifted = (id: string, copy: number): string =>
  id.slice(0, -6) + (Number.parseInt(id.slice(-6), 16) ^ copy).toString(16).padStart(6, "0");
