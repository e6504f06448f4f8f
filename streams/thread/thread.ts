import type { IdMap } from "../idMap.ts";
import type { ThreadAnswer } from "./answers.ts";
import type { AbsorbedPart, NewestHumanMessage, NotedDraft, Priority, SendClaim, ThreadStatus } from "./events.ts";

/** Last note of a draft. */
export type DraftNote = NotedDraft & { draftId: string };

/** Revision of the authentication of the mail with this filing number. */
export type ProofPlace = { number: number; revision: number };

/** Minimal state for a thread's decisions: the newest numbers of its messages, its open drafts. */
export type Thread = {
  exists: boolean;
  /** Revision of the newest event applied to it. */
  revision: number;
  workspaceId: string;
  identityId: string;
  subject: string;
  status: ThreadStatus;
  needsReview: boolean;
  priority: Priority;
  /** The thread this one was merged into. */
  mergedInto: string | null;
  /** The filing number of that merge; 0 for a thread that was not merged. */
  mergeNumber: number;
  /** Threads that were merged into this one. Each must be remembered for ever: absorbed again, it must change nothing. */
  absorbed: IdMap<true>;
  /** Threads being absorbed in parts: the last part received. */
  absorbing: Readonly<Record<string, AbsorbedPart>>;
  newestNumber: number;
  /** The filing number of the mail that opened it; null if a mail of ours did. */
  openingNumber: number | null;
  /** Filing numbers of mails whose authentication is outstanding. */
  unauthenticated: IdMap<true>;
  /** Locations of the newest authentications: at most 50. A draft that answers an older mail is usually stale. */
  proofs: readonly ProofPlace[];
  /** The newest message that makes older drafts stale: from a person or a list, not a machine's answer. */
  newestWord: NewestHumanMessage | null;
  /** Addresses (lower case) that sent or received mail of this thread. */
  participants: readonly string[];
  /** Open drafts: `approved` if approved by their submission, otherwise `pending` until they close. A draft with a claim is being sent. */
  drafts: IdMap<NotedDraft>;
  /** The number of `drafts` that are `pending`, claimed ones included. */
  pendingDrafts: number;
  /** The drafts that closed last, the newest at the end: at most 200. An older note about one of them changes nothing. */
  closedDrafts: readonly DraftNote[];
  /** Claims of sends in progress, by draft. */
  claims: IdMap<SendClaim>;
  /** The newest sent replies, at most 50, oldest first. An abandoned send does not count, unless it is unknown whether it was sent. */
  answers: readonly ThreadAnswer[];
  /**
   * Addresses (lower case) of machines that a draft answers, by draft that was sent or may be. Each machine is answered once, for ever, so
   * each is remembered.
   */
  machineAnswers: IdMap<readonly string[]>;
  /** Messages that a person filed as mail of their senders. */
  filedByHand: IdMap<true>;
  /** Names of the latest repeatable changes: at most 200. */
  doneOnce: readonly string[];
};
