import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { maxParticipants, type Priority, type ThreadEvent, type ThreadStatus } from "#streams/thread/events.ts";
import { isFirstMergePart } from "../merges.ts";

/** Events of the streams from which the rows of threads are made, and the types of those that change a row. */
export type ThreadsEvent = ThreadEvent | DraftEvent;
export const threadTypes: readonly ThreadsEvent["type"][] = [
  "ThreadOpened",
  "MessageReceived",
  "MessageSent",
  "MessageHeld",
  "DraftNoted",
  "DraftQueued",
  "ThreadStatusChanged",
  "ThreadReviewSet",
  "ThreadPrioritySet",
  "ThreadFrozen",
  "ThreadAbsorbed",
];

/** A thread as stored. Times are ISO strings while projected, Dates when read back. */
export type StoredThread = {
  id: string;
  workspace_id: string;
  identity_id: string;
  primary_contact_id: string | null;
  subject: string;
  status: ThreadStatus;
  priority: Priority;
  needs_review: boolean;
  last_message_at: string | Date | null;
  message_count: number;
  participants: string[];
  /** Kind of our mail that opened it, if one did. */
  opened_by: string | null;
  /** False while the thread is not listed: a cold send that was never sent, or a test mail without a reply. */
  listed: boolean;
  merged_into: string | null;
  /** False while all its mail is held: then the thread is not shown. */
  shown: boolean;
  created_at: string | Date;
  updated_at: string | Date;
};

export const threadColumns = [
  "id",
  "workspace_id",
  "identity_id",
  "primary_contact_id",
  "subject",
  "status",
  "priority",
  "needs_review",
  "last_message_at",
  "message_count",
  "participants",
  "opened_by",
  "listed",
  "merged_into",
  "shown",
  "created_at",
  "updated_at",
] as const;

const newRow = (id: string, at: string): StoredThread => ({
  id,
  workspace_id: "",
  identity_id: "",
  primary_contact_id: null,
  subject: "",
  status: "open",
  priority: "normal",
  needs_review: false,
  last_message_at: null,
  message_count: 0,
  participants: [],
  opened_by: null,
  listed: true,
  merged_into: null,
  shown: true,
  created_at: at,
  updated_at: at,
});

const joined = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more.map((address) => address.toLowerCase())])].slice(0, maxParticipants);

const latest = (...times: (string | Date | null)[]): string | null => {
  const known = times.filter((time) => time !== null).map((time) => new Date(time).toISOString());
  return known.sort().at(-1) ?? null;
};

/** Returns a row after an event. `rows`: all rows, an absorbed thread's among them. */
function apply(
  row: StoredThread,
  event: Recorded<ThreadsEvent>,
  rows: ReadonlyMap<string, StoredThread>,
): StoredThread {
  switch (event.type) {
    case "ThreadOpened": {
      const { workspaceId, identityId, subject, contactId, openedBy = null, recipients = [] } = event.data;
      return {
        ...row,
        workspace_id: workspaceId,
        identity_id: identityId,
        subject,
        primary_contact_id: contactId,
        participants: joined([], recipients),
        opened_by: openedBy,
        listed: openedBy === null,
      };
    }
    case "MessageReceived": {
      const { from, to, cc, receivedAt } = event.data;
      return {
        ...row,
        subject: row.shown ? row.subject : event.data.subject,
        shown: true,
        listed: true,
        message_count: row.message_count + 1,
        last_message_at: latest(row.last_message_at, receivedAt),
        participants: joined(row.participants, [...(from ? [from.address] : []), ...to, ...cc]),
      };
    }
    case "MessageHeld":
      return { ...row, shown: false };
    case "MessageSent":
      return {
        ...row,
        message_count: row.message_count + 1,
        last_message_at: latest(row.last_message_at, event.metadata.at),
        participants: joined(row.participants, event.data.to),
      };
    case "DraftNoted":
      return event.data.status === "pending" ? withDraft(row) : row;
    case "DraftQueued":
      return withDraft(row);
    case "ThreadStatusChanged":
      return { ...row, status: event.data.status };
    case "ThreadReviewSet":
      return { ...row, needs_review: event.data.needsReview };
    case "ThreadPrioritySet":
      return { ...row, priority: event.data.priority };
    case "ThreadFrozen":
      return { ...row, merged_into: event.data.survivorId };
    case "ThreadAbsorbed": {
      const absorbed = rows.get(event.data.absorbedId);
      if (!absorbed || !isFirstMergePart(event)) return row;
      const visible = row.shown || !absorbed.shown ? row : absorbed;
      return {
        ...row,
        subject: visible.subject,
        primary_contact_id: visible.primary_contact_id,
        shown: row.shown || absorbed.shown,
        listed: row.listed || absorbed.listed,
        message_count: row.message_count + absorbed.message_count,
        last_message_at: latest(row.last_message_at, absorbed.last_message_at),
        participants: joined(row.participants, absorbed.participants),
      };
    }
    default:
      return row;
  }
}

/** Lists a thread that a mail of ours opened, once that mail waits for a decision or is being sent. */
const withDraft = (row: StoredThread): StoredThread => ({ ...row, listed: row.listed || row.opened_by === "send" });

/** Returns the thread of an event; DraftQueued is an event of the draft. */
export const threadOf = ({ stream, type, data }: Recorded<ThreadsEvent>): string =>
  type === "DraftQueued" ? data.threadId : idOf(stream);

/** Applies an event of these types to the row of its thread. `rows` has all rows that it may concern: an absorbed thread's too. */
export function applyToThreads(rows: Map<string, StoredThread>, event: Recorded<ThreadsEvent>): void {
  // A marker on a visible thread does not change it.
  if (event.type === "MessageHeld" && !event.data.opensThread) return;
  const id = threadOf(event);
  const { at } = event.metadata;
  rows.set(id, { ...apply(rows.get(id) ?? newRow(id, at), event, rows), updated_at: at });
}
