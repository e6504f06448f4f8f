import { randomUUID } from "node:crypto";
import type { Sql } from "#src/platform/postgres/database.ts";
import { conversations, type MadeCounts, type MadeEvent, type Setting } from "./conversations.ts";

export type ScaleLog = Setting & {
  /** Connection as the role that owns the log. */
  owner: Sql;
  /** Called with the number of messages so far and the number of events written since the last call. */
  onProgress(messages: number, events: number): void;
};

const batchEvents = 5_000;

/**
 * Writes a year of a busy workspace directly into the log, without the service. Mail deliveries and filings are left out: these are only
 * the streams of threads and drafts.
 */
export async function makeScaleLog(options: ScaleLog): Promise<MadeCounts & { events: number }> {
  const { owner, onProgress } = options;
  const { rows } = await owner.query<{ head: number }>("select coalesce(max(position), 0) as head from es.events");
  const [head, made] = [rows[0]!.head, { messages: 0, drafts: 0 }];
  let events = 0;
  let batch: MadeEvent[] = [];
  const flush = async (): Promise<void> => {
    await insert(options, head + events, batch);
    events += batch.length;
    onProgress(made.messages, batch.length);
    batch = [];
  };
  for (const some of conversations(options, made)) {
    batch.push(...some);
    if (batch.length >= batchEvents) await flush();
  }
  await flush();
  return { ...made, events };
}

async function insert(
  { owner, workspaceId }: Pick<ScaleLog, "owner" | "workspaceId">,
  from: number,
  rows: readonly MadeEvent[],
): Promise<void> {
  const metadata = rows.map(({ at, actor }) =>
    JSON.stringify({
      workspaceId,
      actor: { kind: "sender", id: actor },
      correlationId: "scale",
      causationId: "scale",
      at,
    }),
  );
  await owner.query(
    `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
     select $1::bigint + n, stream, revision, id, type, 1, data::json, metadata::json, octet_length(data) + octet_length(metadata)
     from unnest($2::text[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::text[])
       with ordinality as e (stream, revision, id, type, data, metadata, n)`,
    [
      from,
      rows.map(({ stream }) => stream),
      rows.map(({ revision }) => revision),
      rows.map(() => randomUUID()),
      rows.map(({ event }) => event.type),
      rows.map(({ event }) => JSON.stringify(event.data)),
      metadata,
    ],
  );
}
