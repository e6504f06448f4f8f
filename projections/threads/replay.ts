import type { DeliveryEvent } from "#streams/delivery/events.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { JudgedWarning } from "#streams/draft/warnings.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { isWord } from "#streams/inbox/mailKinds.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import { type AnsweredMeanwhile, applyToDraft, type DraftRow, type ReadDraft } from "../drafts/queries.ts";
import { draftColumns } from "../drafts/row.ts";
import { isFirstMergePart } from "../merges.ts";
import type { MessageRow } from "../messages/queries.ts";
import { mostReactions, shownReaction } from "../messages/reactions.ts";
import { recipientsIn } from "../messages/recipients.ts";
import { messageColumns, messageOf, outcomeOf } from "../messages/row.ts";
import { asRead } from "../rows.ts";
import type { ThreadRow } from "./queries.ts";
import { applyToThreads, type StoredThread, type ThreadsEvent, threadColumns, threadTypes } from "./row.ts";

/** Events of threads, their drafts and the deliveries of these. */
export type ConversationEvent = ThreadEvent | DraftEvent | DeliveryEvent;

/** A thread at an earlier time. `survivor`: itself, or the thread that it was merged into by then, which has the rest. */
export type ThreadThen = {
  own: ThreadRow;
  survivor: ThreadRow;
  /** All messages, oldest first. */
  messages: MessageRow[];
  /** Newest first. */
  drafts: Omit<ReadDraft, "approvals_required_now" | "assignee">[];
};

/** A message while its events are replayed. Times are ISO strings. */
type Message = Omit<MessageRow, "created_at"> & { created_at: string; delivery_rank: number };

/** Rows of threads that were or will be merged with one another, as the read models have them after a part of their events. */
type Conversations = {
  threads: Map<string, StoredThread>;
  messages: Map<string, Message>;
  /** Markers of held messages from people. */
  held: Map<string, { id: string; thread_id: string; filing_number: number }>;
  drafts: Map<string, DraftRow>;
  /** Threads that absorbed others, by the id of the absorbed one. */
  survivors: Map<string, string>;
};

/**
 * Returns a thread after these events, or undefined if it was not shown yet. `events`: in the order of the log, all of the thread, of the
 * threads merged with it by then, and of their drafts and deliveries.
 */
export function threadAfter(events: readonly Recorded<ConversationEvent>[], threadId: string): ThreadThen | undefined {
  const rows: Conversations = {
    ...{ threads: new Map(), messages: new Map(), held: new Map(), drafts: new Map(), survivors: new Map() },
  };
  for (const event of events) apply(rows, event);
  const own = rows.threads.get(threadId);
  if (!own?.shown) return undefined;
  const content = own.merged_into === null ? own : rows.threads.get(own.merged_into);
  const survivor = content?.shown ? content : own;
  const holder = own.merged_into ?? own.id;
  const isThere = ({ thread_id }: { thread_id: string }): boolean => survivorOf(rows, thread_id) === holder;
  const messages = [...rows.messages.values()].filter(isThere).sort(inTime);
  const drafts = [...rows.drafts.values()].filter(isThere).sort((a, b) => inTime(b, a));
  const held = [...rows.held.values()].filter(isThere);
  return {
    own: threadRead(own),
    survivor: threadRead(survivor),
    messages: messages.map((message) => messageRead(message, holder)),
    drafts: drafts.map((draft) => {
      const newer = newerThan(draft, [...messages, ...held]);
      const answered = answerTo(draft, { messages, drafts: rows.drafts });
      return {
        ...asRead<DraftRow>({ ...draft, thread_id: holder }, { columns: draftColumns, times: [] }),
        newer_message_id: newer,
        answered_meanwhile: answered,
        judged_warnings: judgedWarnings(draft, { newer, answered, messages, drafts }),
      };
    }),
  };
}

function apply(rows: Conversations, event: Recorded<ConversationEvent>): void {
  if (categoryOf(event.stream) === "draft") {
    const id = idOf(event.stream);
    rows.drafts.set(id, applyToDraft(rows.drafts.get(id), event as Recorded<DraftEvent>));
  }
  if (isOfThreads(event)) applyToThreads(rows.threads, event);
  if (event.type === "ThreadFrozen") followMerge(rows, { from: idOf(event.stream), to: event.data.survivorId });
  if (event.type === "ThreadAbsorbed" && isFirstMergePart(event))
    rows.survivors.set(event.data.absorbedId, idOf(event.stream));
  applyToMessages(rows, event);
}

const isOfThreads = (event: Recorded<ConversationEvent>): event is Recorded<ThreadsEvent> =>
  threadTypes.includes(event.type as ThreadsEvent["type"]);

/** Updates the threads that point to a thread which is now merged itself. */
function followMerge({ threads }: Conversations, { from, to }: { from: string; to: string }): void {
  for (const row of threads.values()) if (row.merged_into === from) threads.set(row.id, { ...row, merged_into: to });
}

/** Returns the thread that has the messages and drafts of a thread. */
function survivorOf({ survivors }: Conversations, threadId: string): string {
  let id = threadId;
  for (let next = survivors.get(id); next !== undefined; next = survivors.get(id)) id = next;
  return id;
}

function applyToMessages({ messages, held }: Conversations, event: Recorded<ConversationEvent>): void {
  const added = messageOf(event);
  if (added) {
    const id = added.id as string;
    const later = { authentication: null, from_workspace: false, reactions: [], recipients: {}, delivery_rank: 0 };
    const known = messages.get(id);
    const kept = Object.keys(later).map((name) => [name, { ...later, ...known }[name as keyof typeof later]]);
    messages.set(id, { ...added, ...Object.fromEntries(kept) } as Message);
    held.delete(id);
  }
  if (event.type === "MessageAuthenticated") {
    const message = messages.get(event.data.messageId);
    const { authentication, fromWorkspace: from_workspace = false } = event.data;
    if (message) messages.set(message.id, { ...message, authentication, from_workspace });
  }
  if (event.type === "MessageFiledByHand") {
    const message = messages.get(event.data.messageId);
    if (message) messages.set(message.id, { ...message, kind: "filed_by_hand", classification: "person" });
  }
  if (event.type === "ReactionReceived") {
    const message = messages.get(event.data.messageId);
    if (message) {
      const reactions = [...message.reactions, shownReaction(event.data)].slice(-mostReactions);
      messages.set(message.id, { ...message, reactions });
    }
  }
  if (event.type === "MessageHeld" && isWord(event.data)) {
    const { messageId: id, number } = event.data;
    held.set(id, { id, thread_id: idOf(event.stream), filing_number: number });
  }
  const ofDraft = (draftId: string) => [...messages.values()].find(({ draft_id }) => draft_id === draftId);
  const reported = recipientsIn(event);
  const to = reported && ofDraft(reported.draftId);
  if (to) messages.set(to.id, { ...to, recipients: { ...to.recipients, ...reported.of } });
  const outcome = outcomeOf(event);
  const message = outcome && ofDraft(outcome.draftId);
  if (message) applyOutcome(messages, { message, outcome });
}

function applyOutcome(
  messages: Map<string, Message>,
  { message, outcome }: { message: Message; outcome: NonNullable<ReturnType<typeof outcomeOf>> },
): void {
  const { status, rank, sentAt, rfcMessageId } = outcome;
  if (status === null) {
    messages.delete(message.id);
    return;
  }
  const isNews = rank >= message.delivery_rank;
  messages.set(message.id, {
    ...message,
    delivery_status: isNews ? status : message.delivery_status,
    delivery_rank: isNews ? rank : message.delivery_rank,
    sent_at: (sentAt ?? message.sent_at) as Date | null,
    rfc_message_id: rfcMessageId ?? message.rfc_message_id,
  });
}

type Timed = { id: string; created_at: string | Date };

const millisecondsOf = ({ created_at }: Timed): number => new Date(created_at).getTime();

const inTime = (a: Timed, b: Timed): number => millisecondsOf(a) - millisecondsOf(b) || (a.id < b.id ? -1 : 1);

type Numbered = { id: string; filing_number: number | null; kind?: string | null };

/** Returns the newest message from a person, held or not, that is newer than the one the draft answers; null if there is none. */
function newerThan({ based_on_number }: DraftRow, all: readonly Numbered[]): string | null {
  const newer = all.filter(
    ({ filing_number, kind }) =>
      (filing_number ?? 0) > based_on_number && (kind === undefined || isWord({ classification: null, kind })),
  );
  return newer.sort((a, b) => (b.filing_number ?? 0) - (a.filing_number ?? 0))[0]?.id ?? null;
}

/** Returns the newest mail of ours after the message the draft answers, as drafts/answers.ts does; null if there is none. */
function answerTo(
  { id, based_on_message_id }: DraftRow,
  { messages, drafts }: { messages: readonly Message[]; drafts: ReadonlyMap<string, DraftRow> },
): AnsweredMeanwhile | null {
  const based = messages.find((message) => message.id === based_on_message_id);
  if (!based) return null;
  const answer = messages.findLast(
    (message) =>
      message.draft_id !== null &&
      message.draft_id !== undefined &&
      message.draft_id !== id &&
      message.delivery_status !== "failed" &&
      millisecondsOf(message) > millisecondsOf(based),
  );
  const other = answer && drafts.get(answer.draft_id as string);
  if (!other) return null;
  const { kind, id: by, name } = other.decided_by ?? {};
  const whom = { ...(kind && { kind }), ...(by && { id: by }), ...(name && { name }) } as AnsweredMeanwhile["by"];
  return { message_id: answer.id, at: answer.created_at, by: whom, from_email: answer.from_email };
}

/** Returns the warnings that are judged when a draft is read, as drafts/warnings.ts does. */
function judgedWarnings(
  { id, status, based_on_message_id: basis }: DraftRow,
  {
    newer,
    answered,
    messages,
    drafts,
  }: { newer: string | null; answered: object | null; messages: readonly Message[]; drafts: readonly DraftRow[] },
): JudgedWarning[] {
  const isPending = status === "pending";
  const isOther = (other: DraftRow): boolean =>
    basis !== null && other.based_on_message_id === basis && other.status === "pending" && other.id !== id;
  const judged: Record<JudgedWarning, boolean> = {
    answered_meanwhile: isPending && answered !== null,
    newer_message: isPending && newer !== null,
    other_draft: isPending && drafts.some(isOther),
    unproven_sender: messages.find((message) => message.id === basis)?.authentication?.aligned === false,
  };
  return Object.entries(judged).flatMap(([kind, applies]) => (applies ? [kind as JudgedWarning] : []));
}

const hidden = ["opened_by", "listed", "shown"];
const shownColumns = threadColumns.filter((column) => !hidden.includes(column));

const threadRead = (row: StoredThread): ThreadRow =>
  asRead(row, { columns: shownColumns, times: ["last_message_at", "created_at", "updated_at"] });

const laterColumns = ["authentication", "from_workspace", "reactions", "recipients"];
const readColumns = [...messageColumns.filter((column) => !column.startsWith("placed_")), ...laterColumns];

const messageRead = (row: Message, threadId: string): MessageRow =>
  asRead({ ...row, thread_id: threadId }, { columns: readColumns, times: ["received_at", "sent_at", "created_at"] });
