import pg from "pg";
import { inboundMessage, mailReceived } from "#test/support/examples/index.ts";
import { cause } from "./support.ts";

/** Placeholder for each event's number in a template. */
const placeholder = 987_654_321;

type Template = { type: string; data: object };

/**
 * Writes a stream of `times` repetitions of these events directly into the log, which takes seconds instead of minutes. Nothing else may be
 * appended at the same time.
 */
async function fill(
  ownerUrl: string,
  stream: string,
  { first, times, events }: { first?: Template; times: number; events: Template[] },
) {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  const metadata = JSON.stringify({ ...cause, at: "2026-01-01T00:00:00.000Z" });
  const write = ({ times, events }: { times: number; events: Template[] }) =>
    client.query(
      `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
       select (select coalesce(max(position), 0) from es.events) + row_number() over (order by number, place), $1,
         (select count(*) from es.events where stream_id = $1) + row_number() over (order by number, place) - 1,
         gen_random_uuid(), type, 1, replace(data, '${placeholder}', number::text)::json, $5::text::json, length(data) + length($5::text)
       from generate_series(1, $2::int) number, unnest($3::text[], $4::text[]) with ordinality as event (type, data, place)`,
      [stream, times, events.map(({ type }) => type), events.map(({ data }) => JSON.stringify(data)), metadata],
    );
  try {
    if (first) await write({ times: 1, events: [first] });
    await write({ times, events });
    await client.query("analyze es.events");
  } finally {
    await client.end();
  }
}

export const fillInbox = (ownerUrl: string, stream: string, mails: number): Promise<void> => {
  const ids = { identityId: "i", workspaceId: "w", rawSha256: "hash" };
  const data = mailReceived({ number: 1, references: [], ...ids });
  return fill(ownerUrl, stream, { times: mails, events: [{ type: "MailReceived", data }] });
};

/** Fills a thread with messages of this many bytes, each with its authentication. */
export const fillThread = (
  ownerUrl: string,
  stream: string,
  { messages, bytes }: { messages: number; bytes: number },
): Promise<void> => {
  const opened = { workspaceId: "w", identityId: "i", subject: "s", contactEmail: null, contactId: null };
  const body = { text: "x".repeat(bytes), html: null, extracted: "" };
  const received = inboundMessage(placeholder, { messageId: `message-${placeholder}`, body });
  const authenticated = { number: placeholder, messageId: `message-${placeholder}` };
  const events = [
    { type: "MessageReceived", data: received },
    { type: "MessageAuthenticated", data: authenticated },
  ];
  return fill(ownerUrl, stream, { first: { type: "ThreadOpened", data: opened }, times: messages, events });
};
