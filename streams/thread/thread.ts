import type { NewestWord, NotedDraft, Priority, SendClaim, ThreadStatus } from "./events.ts";

export type Thread = {
  exists: boolean;
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
  absorbed: readonly string[];
  newestNumber: number;
  /** The filing number of the mail that opened it; null if it was opened by a mail of ours. */
  openingNumber: number | null;
  /** Filing numbers of mails whose authentication is still to come. */
  unauthenticated: readonly number[];
  /** The newest message a send must not overlook: a person's or a list's, not a machine's answer. */
  newestWord: NewestWord | null;
  /** Addresses (lower case) that wrote here or were written to. */
  participants: readonly string[];
  drafts: Readonly<Record<string, NotedDraft>>;
  claims: Readonly<Record<string, SendClaim>>;
  /** By draft that was sent, or may be: the machines' addresses (lower case) that it answers. */
  machineAnswers: Readonly<Record<string, readonly string[]>>;
};
