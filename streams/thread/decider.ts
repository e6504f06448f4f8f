import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { absorb, requireFullyAbsorbed } from "./absorption.ts";
import { authenticateMessage, type ThreadAuthentication } from "./authentication.ts";
import { noteDraft, type ThreadDrafts } from "./drafts.ts";
import { type Priority, type ThreadEvent, type ThreadStatus, threadStream } from "./events.ts";
import { evolveThread, initialThread } from "./evolve.ts";
import { fileByHand, fileMessage, fileReaction, holdMessage, type ThreadFiling } from "./filing.ts";
import { claimSend, recordSent, releaseClaim, type ThreadSending } from "./sending.ts";
import type { Thread } from "./thread.ts";

export type ThreadCommand =
  | ThreadFiling
  | ThreadSending
  | ThreadAuthentication
  | ThreadDrafts
  /** A mail of ours opens the thread. Repeating it changes nothing. */
  | { type: "OpenThread"; opened: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"] }
  /** `once`: the name of a change that may be repeated; it is then not made again, whatever was set since. */
  | {
      type: "UpdateThread";
      status?: ThreadStatus;
      needsReview?: boolean;
      priority?: Priority;
      because: string;
      once?: string;
    };

function decide(command: ThreadCommand, thread: Thread): ThreadEvent[] {
  if (thread.mergedInto !== null) {
    // A thread is frozen only once everything decided before is on it: a later filer repeats completed work.
    const repeatable = ["OpenThread", "FreezeThread", "FileMessage", "HoldMessage", "FileReaction", "AbsorbThread"];
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
    case "FileReaction":
      return fileReaction(command, thread);
    case "FileByHand":
      return fileByHand(command, thread);
    case "FreezeThread":
      requireFullyAbsorbed(thread);
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
  const { status, needsReview, priority, because, once } = command;
  if (once !== undefined && thread.doneOnce.includes(once)) return [];
  const mark = once === undefined ? {} : { once };
  const events: ThreadEvent[] = [];
  if (status !== undefined && status !== thread.status) {
    events.push({ type: "ThreadStatusChanged", data: { status, because, ...mark } });
  }
  if (needsReview !== undefined && needsReview !== thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview, reason: needsReview ? because : null, ...mark } });
  }
  if (priority !== undefined && priority !== thread.priority) {
    events.push({ type: "ThreadPrioritySet", data: { priority, ...mark } });
  }
  return events;
}

export const threadDecider: Decider<Thread, ThreadCommand, ThreadEvent> = {
  category: "thread",
  initial: initialThread,
  evolve: evolveThread,
  decide,
};

export const threads = stream({ decider: threadDecider, name: threadStream });
