import type { IdMap } from "../idMap.ts";
import type { Answer } from "./answers.ts";
import type { AbsorbedPart, NewestWord, NotedDraft, Priority, SendClaim, ThreadStatus } from "./events.ts";

/** What was last heard of a draft. */
export type DraftNote = NotedDraft & { draftId: string };

/** Where on this thread it was said what the mail with this filing number proves. */
export type ProofPlace = { number: number; revision: number };

/** What a thread's decisions need, and no more: of its messages the newest numbers, of its drafts the open ones. */
export type Thread = {
  exists: boolean;
  /** Of the newest event that was folded into it. */
  revision: number;
  workspaceId: string;
  identityId: string;
  subject: string;
  status: ThreadStatus;
  needsReview: boolean;
  priority: Priority;
  /** The thread this one was merged into. */
  mergedInto: string | null;
  /** The filing number of that merge; 0 for a thread that stands on its own. */
  mergeNumber: number;
  /** The threads that were merged into this one. Each has to be known for ever: told again, it must change nothing. */
  absorbed: IdMap<true>;
  /** Those whose parts have begun to come: how far they have. */
  absorbing: Readonly<Record<string, AbsorbedPart>>;
  newestNumber: number;
  /** The filing number of the mail that opened it; null if it was opened by a mail of ours. */
  openingNumber: number | null;
  /** Filing numbers of mails whose authentication is still to come. */
  unauthenticated: IdMap<true>;
  /** What was said last of what mails prove: at most 50. A draft that answers an older mail is stale as a rule. */
  proofs: readonly ProofPlace[];
  /** The newest message a send must not overlook: a person's or a list's, not a machine's answer. */
  newestWord: NewestWord | null;
  /** Addresses (lower case) that wrote here or were written to. */
  participants: readonly string[];
  /** Open drafts: `approved` by the very submission, or `pending` from then on. One with a claim is on its way out. */
  drafts: IdMap<NotedDraft>;
  /** The number of `drafts` that are `pending`, claimed ones included. */
  pendingDrafts: number;
  /** The drafts that closed last, the newest at the end: at most 200. An older note about one of them changes nothing. */
  closedDrafts: readonly DraftNote[];
  /** By draft that is on its way out. */
  claims: IdMap<SendClaim>;
  /** The newest mails of ours, at most 50, oldest first. What was given up is none, unless nobody knows whether it was sent. */
  answers: readonly Answer[];
  /** By draft that was sent, or may be: the machines' addresses (lower case) that it answers. Each machine is answered once, for ever, so each is remembered. */
  machineAnswers: IdMap<readonly string[]>;
  /** Marks of the changes made last that may be asked for again: at most 200. */
  doneOnce: readonly string[];
};
