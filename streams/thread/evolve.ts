import { getEntry, isEmpty, withEntry, withoutEntry } from "../idMap.ts";
import { isWord, type KindedMail } from "../inbox/mailKinds.ts";
import { unreachable } from "../unreachable.ts";
import { withAbsorbed } from "./absorption.ts";
import { withAnswers } from "./answers.ts";
import { withNote } from "./drafts.ts";
import type { NewestHumanMessage, ThreadEvent } from "./events.ts";
import { addParticipants } from "./participants.ts";
import type { Thread } from "./thread.ts";

/** A thread before its first mail. */
export const initialThread: Thread = {
  exists: false,
  revision: -1,
  workspaceId: "",
  identityId: "",
  subject: "",
  status: "open",
  needsReview: false,
  priority: "normal",
  mergedInto: null,
  mergeNumber: 0,
  absorbed: {},
  absorbing: {},
  newestNumber: 0,
  openingNumber: null,
  unauthenticated: {},
  proofs: [],
  newestWord: null,
  participants: [],
  drafts: {},
  pendingDrafts: 0,
  closedDrafts: [],
  claims: {},
  answers: [],
  machineAnswers: {},
  filedByHand: {},
  doneOnce: [],
};

/** Repeatable changes remembered, at most: a client repeats a request within minutes. */
const maxDoneOnce = 200;

/** Mails with known authentication that are remembered, at most. */
const maxProofs = 50;

/** Applies an event to a thread. */
export const evolveThread = (thread: Thread, event: ThreadEvent): Thread =>
  evolve({ ...thread, revision: thread.revision + 1 }, event);

function evolve(thread: Thread, event: ThreadEvent): Thread {
  switch (event.type) {
    case "ThreadOpened":
      return opened(thread, event.data);
    case "MessageReceived": {
      const { number, from, to, cc } = event.data;
      const newestWord = newerWord(thread, event.data);
      const participants = addParticipants(thread.participants, [...(from ? [from.address] : []), ...to, ...cc]);
      const openingNumber = isFirst(thread) ? number : thread.openingNumber;
      const unauthenticated = withEntry(thread.unauthenticated, String(number), true);
      return { ...thread, newestNumber: number, newestWord, participants, openingNumber, unauthenticated };
    }
    case "MessageAuthenticated":
      return authenticated(thread, event.data.number);
    case "MessageHeld": {
      return { ...thread, newestNumber: event.data.number, newestWord: newerWord(thread, event.data) };
    }
    case "ReactionReceived":
      return { ...thread, newestNumber: event.data.number };
    case "MessageFiledByHand": {
      const { messageId, number } = event.data;
      const newestWord = number > (thread.newestWord?.number ?? 0) ? { messageId, number } : thread.newestWord;
      const unauthenticated = withEntry(thread.unauthenticated, String(number), true);
      return { ...thread, filedByHand: withEntry(thread.filedByHand, messageId, true), newestWord, unauthenticated };
    }
    case "MessageSent": {
      const { draftId, to } = event.data;
      const noted = withNote(thread, { draftId, status: "sent", revision: 0 });
      const claims = withoutEntry(thread.claims, draftId);
      return { ...noted, claims, participants: addParticipants(thread.participants, to) };
    }
    case "ThreadStatusChanged":
      return { ...once(thread, event.data), status: event.data.status };
    case "ThreadReviewSet":
      return { ...once(thread, event.data), needsReview: event.data.needsReview };
    case "ThreadPrioritySet":
      return { ...once(thread, event.data), priority: event.data.priority };
    case "DraftNoted":
      return withNote(thread, event.data);
    case "SendClaimed": {
      const { replaces: _, ...claim } = event.data;
      const { draftId, machineAddresses } = claim;
      const machineAnswers = machineAddresses
        ? withEntry(thread.machineAnswers, draftId, machineAddresses)
        : thread.machineAnswers;
      const answers = withAnswers(thread.answers, [{ draftId, after: thread.newestNumber }]);
      return { ...thread, answers, machineAnswers, claims: withEntry(thread.claims, draftId, claim) };
    }
    case "SendClaimReleased":
      return released(thread, event.data);
    case "ThreadFrozen":
      return { ...thread, mergedInto: event.data.survivorId, mergeNumber: event.data.number };
    case "ThreadAbsorbed":
      return withAbsorbed(thread, event.data);
    default:
      return unreachable(event);
  }
}

const newerWord = (
  { newestWord }: Thread,
  { messageId, number, ...mail }: KindedMail & NewestHumanMessage,
): NewestHumanMessage | null => (isWord(mail) ? { messageId, number } : newestWord);

/** True if neither side has written yet. */
const isFirst = ({ openingNumber, participants, drafts, closedDrafts }: Thread): boolean =>
  openingNumber === null && participants.length === 0 && isEmpty(drafts) && closedDrafts.length === 0;

/** Remembers the name of a change that must not be repeated. */
const once = (thread: Thread, { once: mark }: { once?: string }): Thread =>
  mark === undefined ? thread : { ...thread, doneOnce: [...thread.doneOnce, mark].slice(-maxDoneOnce) };

function opened(thread: Thread, data: Extract<ThreadEvent, { type: "ThreadOpened" }>["data"]): Thread {
  const { workspaceId, identityId, subject, recipients = [] } = data;
  return { ...thread, exists: true, workspaceId, identityId, subject, participants: addParticipants([], recipients) };
}

function authenticated(thread: Thread, number: number): Thread {
  const proofs = [...thread.proofs, { number, revision: thread.revision }].slice(-maxProofs);
  return { ...thread, proofs, unauthenticated: withoutEntry(thread.unauthenticated, String(number)) };
}

/** Releases a claim. A given-up send is not an answer, unless it is unknown whether it was sent. */
function released(thread: Thread, { draftId, because }: { draftId: string; because: string }): Thread {
  const claims = withoutEntry(thread.claims, draftId);
  if (because === "unconfirmed") return { ...thread, claims };
  const answers = thread.answers.filter((answer) => answer.draftId !== draftId);
  if (getEntry(thread.machineAnswers, draftId) === undefined) return { ...thread, claims, answers };
  return { ...thread, claims, answers, machineAnswers: withoutEntry(thread.machineAnswers, draftId) };
}
