import type { DraftOutcome } from "../draft/outcome.ts";
import { entriesOf, getEntry, hasEntry, withEntry, withoutEntry } from "../idMap.ts";
import type { NotedDraft, NotedDraftStatus, ThreadEvent, ThreadStatus } from "./events.ts";
import type { DraftNote, Thread } from "./thread.ts";

/** Command that reports a draft's state to its thread, whose status follows it. */
export type ThreadDrafts = {
  type: "NoteDraft";
  draftId: string;
  outcome: DraftOutcome;
  /** The draft's own revision then: an older note changes nothing. */
  draftRevision: number;
  /** True if the draft has ended since: this is then new only to a thread that has forgotten none of its drafts. */
  hasEnded?: boolean;
  /** Drafts that were noted as pending and no longer wait for a decision, because an approval is not noted. */
  decided?: readonly string[];
};

/** Closed drafts remembered, at most. */
export const maxClosedDrafts = 200;

const isClosed = (status: NotedDraftStatus): boolean => status === "closed" || status === "sent";

/** Returns the thread's last note of a draft; undefined if it has none, or has forgotten it. */
export const notedDraft = ({ drafts, closedDrafts }: Thread, draftId: string): NotedDraft | undefined =>
  getEntry(drafts, draftId) ?? closedDrafts.findLast((closed) => closed.draftId === draftId);

/** True if an unknown draft may have closed long ago. */
export const mayHaveForgotten = ({ closedDrafts }: Thread): boolean => closedDrafts.length >= maxClosedDrafts;

export function noteDraft(command: ThreadDrafts, thread: Thread): ThreadEvent[] {
  const { draftId, outcome, draftRevision } = command;
  const known = notedDraft(thread, draftId);
  if (known ? known.status === "sent" || known.revision >= draftRevision : isForgottenDraft(command, thread)) return [];
  // An approval changes no status; its claim follows.
  if (outcome === "approved" && known && !isClosed(known.status)) return [];
  const events: ThreadEvent[] = [
    { type: "DraftNoted", data: { draftId, status: statusOf(outcome), revision: draftRevision } },
  ];
  const status = statusAfter(command, thread);
  if (status !== null && status !== thread.status) {
    events.push({ type: "ThreadStatusChanged", data: { status, because: `draft ${outcome}` } });
  }
  return events;
}

const statusOf = (outcome: DraftOutcome): NotedDraftStatus =>
  outcome === "pending" || outcome === "approved" ? outcome : "closed";

/** True for a note about an unknown draft that closed so long ago that it is forgotten. A draft with a claim is not forgotten. */
const isForgottenDraft = ({ draftId, outcome, hasEnded = false }: ThreadDrafts, thread: Thread): boolean =>
  mayHaveForgotten(thread) && !hasEntry(thread.claims, draftId) && (hasEnded || isClosed(statusOf(outcome)));

/** Returns the thread's new status; null if unchanged. While another draft is being sent, the end of that send decides. */
function statusAfter({ draftId, outcome, decided = [] }: ThreadDrafts, thread: Thread): ThreadStatus | null {
  if (outcome === "pending") return "draft_pending";
  if (outcome === "rejected") return "open";
  if (outcome !== "stale" && outcome !== "failed") return null;
  if (isAnotherBeingSent(thread, draftId)) return null;
  return [draftId, ...decided].reduce(withoutOpen, thread).pendingDrafts > 0 ? "draft_pending" : "open";
}

/** True if another draft is being sent. An ended one releases its claim a little later. */
const isAnotherBeingSent = (thread: Thread, draftId: string): boolean =>
  entriesOf(thread.claims).some(([id]) => id !== draftId && !isClosed(notedDraft(thread, id)?.status ?? "pending"));

const onePending = ({ status }: NotedDraft): number => (status === "pending" ? 1 : 0);

/** Returns the thread with this note of a draft. */
export function withNote(thread: Thread, { draftId, status, revision }: DraftNote): Thread {
  const noted = { status, revision };
  const others = withoutOpen(thread, draftId);
  const closed =
    others === thread ? thread.closedDrafts.filter((each) => each.draftId !== draftId) : thread.closedDrafts;
  if (isClosed(status)) {
    return { ...others, closedDrafts: [...closed, { draftId, ...noted }].slice(-maxClosedDrafts) };
  }
  return {
    ...others,
    drafts: withEntry(thread.drafts, draftId, noted),
    pendingDrafts: others.pendingDrafts + onePending(noted),
    closedDrafts: closed,
  };
}

/** Returns the thread with another thread's notes of drafts. Of the closed ones the latest of both are kept. */
export function withDraftsOf(thread: Thread, drafts: Readonly<Record<string, NotedDraft>>): Thread {
  const all = Object.entries(drafts).map(([draftId, noted]) => ({ draftId, ...noted }));
  const open = all.filter(({ status }) => !isClosed(status)).reduce(withNote, thread);
  const closed = all.filter(({ status }) => isClosed(status));
  if (closed.length === 0) return open;
  const ids = new Set(closed.map(({ draftId }) => draftId));
  const own = open.closedDrafts.filter(({ draftId }) => !ids.has(draftId));
  const theirs = closed.slice(-Math.max(maxClosedDrafts / 2, maxClosedDrafts - own.length));
  const room = maxClosedDrafts - theirs.length;
  return {
    ...closed.reduce((known, { draftId }) => withoutOpen(known, draftId), open),
    closedDrafts: [...own.slice(Math.max(0, own.length - room)), ...theirs],
  };
}

/** Returns the thread without the draft among its open ones. */
function withoutOpen(thread: Thread, draftId: string): Thread {
  const before = getEntry(thread.drafts, draftId);
  if (before === undefined) return thread;
  return {
    ...thread,
    drafts: withoutEntry(thread.drafts, draftId),
    pendingDrafts: thread.pendingDrafts - onePending(before),
  };
}
