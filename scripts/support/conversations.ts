import { randomUUID } from "node:crypto";
import { contactId } from "#projections/derivedId.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import { type MessagePlace, type ThreadEvent, threadStream } from "#streams/thread/events.ts";
import { createWriter, type Writer } from "./zipfMail.ts";

/** The workspace, the identities that receive mail, and the number of threads to make. */
export type Setting = {
  workspaceId: string;
  identities: readonly { id: string; email_address: string }[];
  threads: number;
};

/** Counts of messages and drafts made so far. */
export type MadeCounts = { messages: number; drafts: number };

/** An event of a thread or of a draft, and its place in its stream. */
export type MadeEvent = {
  stream: string;
  revision: number;
  event: ThreadEvent | DraftEvent;
  at: string;
  actor: string;
};

const openAtOnce = 2_000;
const yearMs = 365 * 86_400_000;

/**
 * Yields a year of threads, one message of one open thread at a time: some five messages a thread, a fifth of them ours with their drafts,
 * people who write more than once, states, priorities and review flags. The same for the same number of threads, but for ids.
 */
export function* conversations(setting: Setting, made: MadeCounts): Generator<MadeEvent[]> {
  const { threads } = setting;
  const writer = createWriter(threads);
  const open: Conversation[] = [];
  let begun = 0;
  const start = Date.now() - yearMs;
  const steps = threads * 5.2;
  for (let step = 0; open.length > 0 || begun < threads; step++) {
    for (; open.length < openAtOnce && begun < threads; begun++) open.push(begin(setting, writer));
    const place = Math.floor(writer.random() * open.length);
    const conversation = open[place]!;
    const at = new Date(start + (yearMs * step) / Math.max(steps, step + 1)).toISOString();
    yield next(conversation, { at, writer, made });
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
  /** Revision of its next event. */
  revision: number;
  /** Number of messages received, and the id and the place of the newest. */
  number: number;
  lastMessageId: string;
  lastMessagePlace: MessagePlace;
  /** The number of messages still to make. */
  left: number;
};

function begin({ workspaceId, identities, threads }: Setting, writer: Writer): Conversation {
  const people = Math.max(20, Math.floor(threads / 5));
  return {
    ...{ workspaceId, id: randomUUID() },
    identity: identities[Math.floor(writer.random() ** 2 * identities.length)]!,
    person: writer.person(Math.floor(writer.random() ** 2 * people)),
    subject: writer.sentence(3 + Math.floor(writer.random() * 4)).slice(0, -1),
    ...{ revision: 0, number: 0, lastMessageId: "", lastMessagePlace: { threadId: "", revision: 0 } },
    left: 1 + Math.floor(writer.random() * 9),
  };
}

/** One message of a conversation: its time, the writer of its text, and the counts that it increases. */
type MessageStep = { at: string; writer: Writer; made: MadeCounts };

function next(thread: Conversation, step: MessageStep): MadeEvent[] {
  const isFirst = thread.revision === 0;
  thread.left -= 1;
  const isLast = thread.left === 0;
  const isOurs = !isFirst && !isLast && step.writer.random() < 0.33;
  step.made.messages += 1;
  return [...(isOurs ? answer(thread, step) : received(thread, step)), ...(isLast ? ending(thread, step) : [])];
}

const onThread = (thread: Conversation, at: string, event: ThreadEvent): MadeEvent => ({
  ...{ stream: threadStream(thread.id), revision: thread.revision++, event, at },
  actor: thread.person.address,
});

const onDraft = (draftId: string, at: string, events: DraftEvent[]): MadeEvent[] =>
  events.map((event, revision) => ({ stream: draftStream(draftId), revision, event, at, actor: "agent" }));

function received(thread: Conversation, { at, writer }: MessageStep): MadeEvent[] {
  const { identity, person, subject, workspaceId } = thread;
  const isFirst = thread.revision === 0;
  const [messageId, contact] = [randomUUID(), contactId(workspaceId, person.address)];
  const text = bodyOf(writer);
  thread.number += 1;
  thread.lastMessageId = messageId;
  thread.lastMessagePlace = { threadId: thread.id, revision: thread.revision + (isFirst ? 1 : 0) };
  const opened = { workspaceId, identityId: identity.id, subject, contactEmail: person.address, contactId: contact };
  const about = { messageId, number: thread.number, identityId: identity.id, classification: "person" } as const;
  return [
    ...(isFirst ? [onThread(thread, at, { type: "ThreadOpened", data: opened })] : []),
    onThread(thread, at, {
      type: "MessageReceived",
      data: {
        ...about,
        ...{ deliveryId: randomUUID(), receivedAt: at, rfcMessageId: `<${messageId}@customer.example>` },
        ...{ inReplyTo: null, references: [], from: person, replyTo: [], to: [identity.email_address], cc: [] },
        ...{ subject: isFirst ? subject : `Re: ${subject}`, rawSha256: "0".repeat(64) },
        ...{ body: { text, html: null, extracted: text }, bodyBlob: null, searchText: null },
        ...{ attachments: [], quarantined: false, inboxRevision: thread.number - 1 },
      },
    }),
    onThread(thread, at, {
      type: "MessageAuthenticated",
      data: {
        ...about,
        ...{ fromEmail: person.address, subject, contactId: contact, contactStatus: "unknown" },
        authentication: { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true, arc: "none" },
        received: thread.lastMessagePlace,
      },
    }),
  ];
}

type Submitted = Extract<DraftEvent, { type: "DraftSubmitted" }>;

/** A draft for the newest message of a thread. */
function submitted(thread: Conversation, { writer, made }: MessageStep): { draftId: string; event: Submitted } {
  made.drafts += 1;
  const content = {
    from: { name: "Support", address: thread.identity.email_address },
    ...{ reply_to: null, to: [thread.person.address], cc: [], bcc: [], subject: `Re: ${thread.subject}` },
    ...{ body_text: bodyOf(writer), body_html: null, signature_text: null, signature_html: null },
    ...{ in_reply_to: null, references: [], attachments: [] },
  };
  const data = {
    ...{ workspaceId: thread.workspaceId, threadId: thread.id, identityId: thread.identity.id },
    ...{ basedOnMessageId: thread.lastMessageId, basedOnNumber: thread.number, answers: thread.lastMessagePlace },
    ...{ messageId: randomUUID(), content, contentBlob: null, contentSha256: "c".repeat(64) },
    ...{ htmlRemoved: [], rationale: null, metadata: null, staleWarning: false, autoApproved: false },
  };
  return { draftId: randomUUID(), event: { type: "DraftSubmitted", data } };
}

/** A draft that is sent at once. */
function answer(thread: Conversation, step: MessageStep): MadeEvent[] {
  const { at } = step;
  const { draftId, event } = submitted(thread, step);
  const { content, contentBlob, contentSha256, messageId, threadId, identityId } = event.data;
  const [attemptId, rfcMessageId] = [randomUUID(), `<${messageId}@agents.localhost>`];
  const queued = {
    ...{ content, contentBlob, contentSha256, messageId, threadId, identityId, attemptId, version: 1 },
    ...{ quotaStream: `quota-${thread.workspaceId}-lifetime`, reservationId: attemptId },
    authorisation: { kind: "api_key", approvedVersion: 1 },
  } as const;
  const sent = { draftId, attemptId, messageId, rfcMessageId, to: [thread.person.address] };
  return [
    ...onDraft(draftId, at, [
      event,
      { type: "DraftQueued", data: queued },
      { type: "DraftSent", data: { attemptId, rfcMessageId, sentAt: at } },
    ]),
    onThread(thread, at, { type: "MessageSent", data: sent }),
    onThread(thread, at, { type: "ThreadStatusChanged", data: { status: "waiting", because: "answered" } }),
  ];
}

/** Ends a thread: most are closed, some wait for a decision; a few have a priority or ask for review. */
function ending(thread: Conversation, step: MessageStep): MadeEvent[] {
  const { at, writer } = step;
  const events: MadeEvent[] = [];
  const add = (event: ThreadEvent) => events.push(onThread(thread, at, event));
  const chance = writer.random();
  if (chance < 0.05) {
    const { draftId, event } = submitted(thread, step);
    events.push(...onDraft(draftId, at, [event]));
    add({ type: "DraftNoted", data: { draftId, status: "pending", revision: 0 } });
  }
  const status = chance < 0.05 ? "draft_pending" : chance < 0.65 ? "closed" : chance < 0.8 ? "open" : undefined;
  if (status) add({ type: "ThreadStatusChanged", data: { status, because: "left so" } });
  const priority = (["high", "urgent", "low"] as const)[Math.floor(writer.random() * 20)];
  if (priority) add({ type: "ThreadPrioritySet", data: { priority } });
  if (writer.random() < 0.02) add({ type: "ThreadReviewSet", data: { needsReview: true, reason: "a look is wanted" } });
  return events;
}

const bodyOf = (writer: Writer): string =>
  Array.from({ length: 3 + Math.floor(writer.random() * 6) }, () =>
    writer.sentence(6 + Math.floor(writer.random() * 10)),
  ).join(" ");
