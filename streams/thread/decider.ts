import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import type { DraftOutcome } from "../draft/outcome.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { authenticateMessage, type ThreadAuthentication } from "./authentication.ts";
import { type NotedDraft, type Priority, type ThreadEvent, type ThreadStatus, threadStream } from "./events.ts";
import { evolveThread, initialThread } from "./evolve.ts";
import { absorb, fileMessage, holdMessage, type ThreadFiling } from "./filing.ts";
import { claimSend, recordSent, releaseClaim, type ThreadSending } from "./sending.ts";
import type { Thread } from "./thread.ts";

export type ThreadCommand =
  | ThreadFiling
  | ThreadSending
  | ThreadAuthentication
  /** A mail of ours opens it. Repeating it changes nothing. */
  | { type: "OpenThread"; opened: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] }
  | { type: "UpdateThread"; status?: ThreadStatus; needsReview?: boolean; priority?: Priority; because: string }
  | { type: "NoteDraft"; draftId: string; outcome: DraftOutcome; draftRevision: number };

function decide(command: ThreadCommand, thread: Thread): ThreadEvent[] {
  if (thread.mergedInto !== null) {
    // A thread is frozen only once everything decided before is in it: a filer that comes here now repeats what was done.
    const repeatable = ["OpenThread", "FreezeThread", "FileMessage", "HoldMessage", "AbsorbThread"];
    if (repeatable.includes(command.type)) return [];
    throw new Rejected("thread_merged", "this thread was merged into another one: see merged_into", {
      survivorId: thread.mergedInto,
    });
  }
  if (command.type === "OpenThread") {
    return thread.exists ? [] : [{ type: "ThreadOpened", data: command.opened }];
  }
  if (!thread.exists && command.type !== "FileMessage" && command.type !== "HoldMessage") {
    throw new Rejected("not_found", "no such thread");
  }
  switch (command.type) {
    case "FileMessage":
      return fileMessage(command, thread);
    case "HoldMessage":
      return holdMessage(command, thread);
    case "FreezeThread":
      return [{ type: "ThreadFrozen", data: { survivorId: command.survivorId, number: command.number } }];
    case "AbsorbThread":
      return absorb(command, thread);
    case "ClaimSend":
      return claimSend(command, thread);
    case "ReleaseClaim":
      return releaseClaim(command, thread);
    case "RecordSent":
      return recordSent(command, thread);
    case "UpdateThread":
      return update(command, thread);
    case "NoteDraft":
      return noteDraft(command, thread);
    case "AuthenticateMessage":
      return authenticateMessage(command, thread);
    default:
      return unreachable(command);
  }
}

function update(command: Extract<ThreadCommand, { type: "UpdateThread" }>, thread: Thread): ThreadEvent[] {
  const { status, needsReview, priority, because } = command;
  const events: ThreadEvent[] = [];
  if (status !== undefined && status !== thread.status) {
    events.push({ type: "ThreadStatusChanged", data: { status, because } });
  }
  if (needsReview !== undefined && needsReview !== thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview, reason: needsReview ? because : null } });
  }
  if (priority !== undefined && priority !== thread.priority) {
    events.push({ type: "ThreadPrioritySet", data: { priority } });
  }
  return events;
}

function noteDraft(command: Extract<ThreadCommand, { type: "NoteDraft" }>, thread: Thread): ThreadEvent[] {
  const { draftId, outcome, draftRevision } = command;
  const known = thread.drafts[draftId];
  if (known && (known.status === "sent" || known.revision >= draftRevision)) return [];
  const open = outcome === "pending" || outcome === "approved" || outcome === "sending";
  const noted: NotedDraft = { status: open ? outcome : "closed", revision: draftRevision };
  const events: ThreadEvent[] = [{ type: "DraftNoted", data: { draftId, ...noted } }];
  const status = statusAfter(outcome, draftId, thread);
  if (status !== null && status !== thread.status) {
    events.push({ type: "ThreadStatusChanged", data: { status, because: `draft ${outcome}` } });
  }
  return events;
}

function statusAfter(outcome: DraftOutcome, draftId: string, thread: Thread): ThreadStatus | null {
  if (outcome === "pending") return "draft_pending";
  if (outcome === "rejected") return "open";
  if (outcome !== "stale" && outcome !== "failed") return null;
  const others = Object.entries(thread.drafts).filter(([id]) => id !== draftId);
  if (others.some(([, draft]) => draft.status === "sending")) return null;
  return others.some(([, draft]) => draft.status === "pending") ? "draft_pending" : "open";
}

export const threadDecider: Decider<Thread, ThreadCommand, ThreadEvent> = {
  category: "thread",
  initial: initialThread,
  evolve: evolveThread,
  decide,
};

export const threads = stream({ decider: threadDecider, name: threadStream });
