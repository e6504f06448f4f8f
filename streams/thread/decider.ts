import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import type { DraftOutcome } from "../draft/outcome.ts";
import { isWord } from "../inbox/words.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { authenticateMessage, type ThreadAuthentication } from "./authentication.ts";
import {
  maxParticipants,
  type NotedDraft,
  type Priority,
  type ThreadEvent,
  type ThreadStatus,
  threadStream,
} from "./events.ts";
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

const initial: Thread = {
  exists: false,
  workspaceId: "",
  identityId: "",
  subject: "",
  status: "open",
  needsReview: false,
  priority: "normal",
  mergedInto: null,
  mergeNumber: 0,
  absorbed: [],
  newestNumber: 0,
  openingNumber: null,
  unauthenticated: [],
  newestWord: null,
  participants: [],
  drafts: {},
  claims: {},
  machineAnswers: {},
};

function evolve(thread: Thread, event: ThreadEvent): Thread {
  switch (event.type) {
    case "ThreadOpened":
      return opened(thread, event.data);
    case "MessageReceived": {
      const { number, messageId, classification, from, to, cc } = event.data;
      const newestWord = isWord(classification) ? { messageId, number } : thread.newestWord;
      const participants = joined(thread.participants, [...(from ? [from.address] : []), ...to, ...cc]);
      const openingNumber = isFirst(thread) ? number : thread.openingNumber;
      const unauthenticated = [...thread.unauthenticated, number];
      return { ...thread, newestNumber: number, newestWord, participants, openingNumber, unauthenticated };
    }
    case "MessageAuthenticated": {
      const { number } = event.data;
      return { ...thread, unauthenticated: thread.unauthenticated.filter((each) => each !== number) };
    }
    case "MessageHeld": {
      const { number, messageId, classification } = event.data;
      const newestWord = isWord(classification) ? { messageId, number } : thread.newestWord;
      return { ...thread, newestNumber: number, newestWord };
    }
    case "MessageSent": {
      const { draftId, to } = event.data;
      const drafts = { ...thread.drafts, [draftId]: { status: "sent" as const, revision: 0 } };
      return { ...without(thread, draftId), drafts, participants: joined(thread.participants, to) };
    }
    case "ThreadStatusChanged":
      return { ...thread, status: event.data.status };
    case "ThreadReviewSet":
      return { ...thread, needsReview: event.data.needsReview };
    case "ThreadPrioritySet":
      return { ...thread, priority: event.data.priority };
    case "DraftNoted": {
      const { draftId, status, revision } = event.data;
      return { ...thread, drafts: { ...thread.drafts, [draftId]: { status, revision } } };
    }
    case "SendClaimed": {
      const { replaces: _, ...claim } = event.data;
      const { draftId, machineAddresses } = claim;
      const machineAnswers = machineAddresses
        ? { ...thread.machineAnswers, [draftId]: machineAddresses }
        : thread.machineAnswers;
      return { ...thread, machineAnswers, claims: { ...thread.claims, [draftId]: claim } };
    }
    case "SendClaimReleased":
      return released(thread, event.data);
    case "ThreadFrozen":
      return { ...thread, mergedInto: event.data.survivorId, mergeNumber: event.data.number };
    case "ThreadAbsorbed":
      return absorbed(thread, event.data);
    default:
      return unreachable(event);
  }
}

/** Nobody wrote here yet, neither they nor we. */
const isFirst = ({ openingNumber, participants, drafts }: Thread): boolean =>
  openingNumber === null && participants.length === 0 && Object.keys(drafts).length === 0;

function absorbed(thread: Thread, data: Extract<ThreadEvent, { type: "ThreadAbsorbed" }>["data"]): Thread {
  const words = [thread.newestWord, data.newestWord].filter((word) => word !== null);
  return {
    ...thread,
    absorbed: [...thread.absorbed, data.absorbedId],
    newestNumber: Math.max(thread.newestNumber, data.newestNumber),
    unauthenticated: [...thread.unauthenticated, ...(data.unauthenticated ?? [])],
    newestWord: words.sort((a, b) => b.number - a.number)[0] ?? null,
    participants: joined(thread.participants, data.participants),
    drafts: { ...thread.drafts, ...data.drafts },
    claims: { ...thread.claims, ...Object.fromEntries(data.claims.map((claim) => [claim.draftId, claim])) },
    machineAnswers: { ...thread.machineAnswers, ...data.machineAnswers },
  };
}

function opened(thread: Thread, data: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"]): Thread {
  const { workspaceId, identityId, subject, recipients = [] } = data;
  return { ...thread, exists: true, workspaceId, identityId, subject, participants: joined([], recipients) };
}

/** What was given up answered nobody, unless nobody knows whether it left. */
function released(thread: Thread, { draftId, because }: { draftId: string; because: string }): Thread {
  const { [draftId]: given, ...others } = thread.machineAnswers;
  const machineAnswers = because === "unconfirmed" || given === undefined ? thread.machineAnswers : others;
  return { ...without(thread, draftId), machineAnswers };
}

function without(thread: Thread, draftId: string): Thread {
  const { [draftId]: _, ...claims } = thread.claims;
  return { ...thread, claims };
}

function joined(known: readonly string[], more: readonly string[]): readonly string[] {
  const fresh = more.map((address) => address.toLowerCase()).filter((address) => !known.includes(address));
  return fresh.length === 0 ? known : [...known, ...new Set(fresh)].slice(0, maxParticipants);
}

function decide(command: ThreadCommand, thread: Thread): ThreadEvent[] {
  if (thread.mergedInto !== null) {
    // A thread is frozen only once everything decided before stands in it: whoever files here now repeats what was done.
    const repeatable = ["OpenThread", "FreezeThread", "FileMessage", "HoldMessage", "AbsorbThread"];
    if (repeatable.includes(command.type)) return [];
    throw new Rejected("thread_merged", "this thread was merged into another", { survivorId: thread.mergedInto });
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
  initial,
  evolve,
  decide,
};

export const threads = stream({ decider: threadDecider, name: threadStream });
