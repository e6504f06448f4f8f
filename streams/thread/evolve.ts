import { isWord } from "../inbox/words.ts";
import { unreachable } from "../unreachable.ts";
import { maxParticipants, type ThreadEvent } from "./events.ts";
import type { Thread } from "./thread.ts";

/** A thread before anybody wrote. */
export const initialThread: Thread = {
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

/** What each event makes of a thread. */
export function evolveThread(thread: Thread, event: ThreadEvent): Thread {
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
