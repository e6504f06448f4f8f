import { randomUUID } from "node:crypto";
import { contactId } from "#projections/derivedId.ts";
import type { Sql } from "#src/postgres/database.ts";
import { draftStream } from "#streams/draft/events.ts";
import { threadStream } from "#streams/thread/events.ts";
import { createWriter, type Writer } from "./zipfMail.ts";

export type ScaleLog = {
  /** Under the role that owns the log. */
  owner: Sql;
  workspaceId: string;
  identities: readonly { id: string; email_address: string }[];
  threads: number;
  onProgress?: (events: number, messages: number) => void;
};

export type MadeLog = { events: number; messages: number; drafts: number; people: number };

type Made = {
  stream: string;
  revision: number;
  type: string;
  data: Record<string, unknown>;
  at: string;
  actor: string;
};

const batchEvents = 5_000;
const openAtOnce = 2_000;
const yearMs = 365 * 86_400_000;

/**
 * Writes a year of a busy workspace straight into the log, past the service: some five messages a thread, a fifth of them ours with their
 * drafts, people who write more than once, states, priorities and review flags as they come about. Mail's deliveries and filings are left
 * out: these are the threads' and drafts' own streams.
 */
export async function makeScaleLog(options: ScaleLog): Promise<MadeLog> {
  const { rows } = await options.owner.query<{ head: number }>(
    "select coalesce(max(position), 0) as head from es.events",
  );
  const head = rows[0]!.head;
  const made: MadeLog = { events: 0, messages: 0, drafts: 0, people: Math.max(20, Math.floor(options.threads / 5)) };
  let batch: Made[] = [];
  let writing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    const ready = batch;
    batch = [];
    await writing;
    const from = head + made.events;
    made.events += ready.length;
    options.onProgress?.(made.events, made.messages);
    writing = insert(options, from, ready);
  };
  for (const events of conversations(options, made)) {
    batch.push(...events);
    if (batch.length >= batchEvents) await flush();
  }
  await flush();
  await writing;
  await options.owner.query("analyze es.events");
  return made;
}

/** Threads side by side: each step is one message of one that is open. */
function* conversations({ workspaceId, identities, threads }: ScaleLog, made: MadeLog): Generator<Made[]> {
  const writer = createWriter(threads);
  const open: Conversation[] = [];
  let begun = 0;
  const start = Date.now() - yearMs;
  const steps = threads * 5.2;
  for (let step = 0; open.length > 0 || begun < threads; step++) {
    while (open.length < openAtOnce && begun < threads) {
      const identity = identities[Math.floor(writer.random() ** 2 * identities.length)] ?? identities[0]!;
      open.push(begin(writer, made.people, { workspaceId, identity }));
      begun += 1;
    }
    const place = Math.floor(writer.random() * open.length);
    const conversation = open[place]!;
    const at = new Date(start + (yearMs * step) / Math.max(steps, step + 1)).toISOString();
    yield next(conversation, writer, { at, made });
    if (conversation.left > 0) continue;
    open[place] = open.at(-1)!;
    open.pop();
  }
}

type Conversation = {
  workspaceId: string;
  id: string;
  identity: { id: string; email_address: string };
  person: { name: string; address: string };
  subject: string;
  revision: number;
  number: number;
  left: number;
  lastMessageId: string;
};

const begin = (
  writer: Writer,
  people: number,
  { workspaceId, identity }: Pick<Conversation, "workspaceId" | "identity">,
): Conversation => ({
  workspaceId,
  identity,
  id: randomUUID(),
  person: writer.person(Math.floor(writer.random() ** 2 * people)),
  subject: writer.sentence(3 + Math.floor(writer.random() * 4)).slice(0, -1),
  revision: 0,
  number: 0,
  left: 1 + Math.floor(writer.random() * 9),
  lastMessageId: "",
});

/** A step of a conversation: when, and what is counted. */
type Step = { at: string; made: MadeLog };

function next(thread: Conversation, writer: Writer, step: Step): Made[] {
  const first = thread.revision === 0;
  thread.left -= 1;
  const last = thread.left === 0;
  const ours = !first && !last && writer.random() < 0.33;
  const events = ours ? answer(thread, writer, step) : received(thread, writer, { ...step, first });
  if (last) events.push(...ending(thread, writer, step));
  return events;
}

const onThread = (thread: Conversation, event: Pick<Made, "at" | "type" | "data">): Made => ({
  ...{ stream: threadStream(thread.id), revision: thread.revision++, ...event },
  actor: thread.person.address,
});

function received(thread: Conversation, writer: Writer, { at, made, first }: Step & { first: boolean }): Made[] {
  const { identity, person, subject, workspaceId } = thread;
  const [messageId, contact] = [randomUUID(), contactId(workspaceId, person.address)];
  const text = bodyOf(writer);
  thread.number += 1;
  thread.lastMessageId = messageId;
  made.messages += 1;
  const opened = { workspaceId, identityId: identity.id, subject, contactEmail: person.address, contactId: contact };
  const about = { messageId, number: thread.number, identityId: identity.id, classification: "person" };
  return [
    ...(first ? [onThread(thread, { at, type: "ThreadOpened", data: opened })] : []),
    onThread(thread, {
      at,
      type: "MessageReceived",
      data: {
        ...about,
        ...{ deliveryId: randomUUID(), receivedAt: at, rfcMessageId: `<${messageId}@customer.example>` },
        ...{ inReplyTo: null, references: [], from: person, replyTo: [], to: [identity.email_address], cc: [] },
        ...{ subject: first ? subject : `Re: ${subject}`, rawSha256: "0".repeat(64) },
        ...{ body: { text, html: null, extracted: text }, bodyBlob: null, searchText: null },
        ...{ attachments: [], quarantined: false },
      },
    }),
    onThread(thread, {
      at,
      type: "MessageAuthenticated",
      data: {
        ...about,
        ...{ fromEmail: person.address, subject, contactId: contact, contactStatus: "unknown" },
        authentication: { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true },
      },
    }),
  ];
}

function answer(thread: Conversation, writer: Writer, { at, made }: Step): Made[] {
  const draft = submitted(thread, writer, at);
  const [attemptId, rfcMessageId] = [randomUUID(), `<${draft.messageId}@agents.localhost>`];
  made.messages += 1;
  made.drafts += 1;
  const { content, contentSha256, messageId } = draft;
  const { stream, actor } = draft.event;
  const queued = {
    ...{ content, contentBlob: null, attemptId, version: 1, contentSha256, messageId },
    ...{ threadId: thread.id, identityId: thread.identity.id, quotaStream: `quota-${thread.workspaceId}-lifetime` },
    ...{ reservationId: attemptId, authorisation: { kind: "api_key", approvedVersion: 1 } },
  };
  const sent = { draftId: draft.id, attemptId, messageId, rfcMessageId, to: content.to };
  return [
    draft.event,
    { stream, revision: 1, type: "DraftQueued", data: queued, at, actor },
    { stream, revision: 2, type: "DraftSent", data: { attemptId, rfcMessageId, sentAt: at }, at, actor },
    onThread(thread, { at, type: "MessageSent", data: sent }),
    onThread(thread, { at, type: "ThreadStatusChanged", data: { status: "waiting", because: "answered" } }),
  ];
}

function submitted(thread: Conversation, writer: Writer, at: string) {
  const [id, messageId, contentSha256] = [randomUUID(), randomUUID(), "c".repeat(64)];
  const content = {
    ...{
      from: { name: "Support", address: thread.identity.email_address },
      reply_to: null,
      to: [thread.person.address],
    },
    ...{ cc: [], bcc: [], subject: `Re: ${thread.subject}`, body_text: bodyOf(writer), body_html: null },
    ...{ signature_text: null, signature_html: null, in_reply_to: null, references: [], attachments: [] },
  };
  const data = {
    ...{ workspaceId: thread.workspaceId, threadId: thread.id, identityId: thread.identity.id },
    ...{ basedOnMessageId: thread.lastMessageId, basedOnNumber: thread.number, messageId, contentSha256 },
    ...{ content, contentBlob: null, rationale: null, metadata: null, staleWarning: false, autoApproved: false },
  };
  const event: Made = { stream: draftStream(id), revision: 0, type: "DraftSubmitted", data, at, actor: "agent" };
  return { id, messageId, contentSha256, content, event };
}

/** How a thread is left: mostly closed, some waiting for a decision; a few marked. */
function ending(thread: Conversation, writer: Writer, { at, made }: Step): Made[] {
  const events: Made[] = [];
  const chance = writer.random();
  if (chance < 0.05) {
    const draft = submitted(thread, writer, at);
    made.drafts += 1;
    events.push(
      draft.event,
      onThread(thread, { at, type: "DraftNoted", data: { draftId: draft.id, status: "pending", revision: 0 } }),
    );
  }
  const status = chance < 0.05 ? "draft_pending" : chance < 0.65 ? "closed" : chance < 0.8 ? "open" : undefined;
  if (status) events.push(onThread(thread, { at, type: "ThreadStatusChanged", data: { status, because: "left so" } }));
  const priority = ["high", "urgent", "low"][Math.floor(writer.random() * 20)];
  if (priority) events.push(onThread(thread, { at, type: "ThreadPrioritySet", data: { priority } }));
  if (writer.random() < 0.02)
    events.push(
      onThread(thread, { at, type: "ThreadReviewSet", data: { needsReview: true, reason: "a look is wanted" } }),
    );
  return events;
}

const bodyOf = (writer: Writer): string =>
  Array.from({ length: 3 + Math.floor(writer.random() * 6) }, () =>
    writer.sentence(6 + Math.floor(writer.random() * 10)),
  ).join(" ");

async function insert(
  { owner, workspaceId }: Pick<ScaleLog, "owner" | "workspaceId">,
  from: number,
  rows: readonly Made[],
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
      rows.map(({ type }) => type),
      rows.map(({ data }) => JSON.stringify(data)),
      metadata,
    ],
  );
}
