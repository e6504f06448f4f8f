import type { RecordedOutcome } from "./approvalView.ts";

/**
 * State of a draft on a list. `waits`: its own page is behind this token; `warnings` is null if the draft is too long to be checked here.
 * `changed`: it has a newer version, which is asked about separately. `closed`: this link to it was closed. `elsewhere`: another mailbox
 * now approves for its identity, and nothing of it is shown. `broken`: it cannot be shown now.
 */
export type ListedState =
  | { kind: "waits"; token: string; warnings: number | null }
  | { kind: "decided"; outcome: RecordedOutcome }
  | { kind: "changed" }
  | { kind: "closed" }
  | { kind: "elsewhere" }
  | { kind: "broken" };

export type ListedDraft = {
  subject: string;
  to: readonly string[];
  /** ISO time of the first request to the approvers; null if no longer known. */
  since: string | null;
  state: ListedState;
};

/** The drafts that one mail listed: first the undecided ones. Each page shows a part of the list. */
export type ApprovalList = {
  /** Number of drafts on it, and number of those that wait for a decision. */
  total: number;
  waiting: number;
  /** Number of the page, from 1. */
  page: number;
  pages: number;
  drafts: ListedDraft[];
  /** ISO time after which nothing may be shown. */
  expiresAt: string;
};

/** The token of the next draft on a list that its holder can decide about; null if there is none. */
export type NextOnList = { token: string | null };

/** Port of the list page. Throws Unavailable (src/eventStore/eventStore.ts). */
export type ApprovalLists = {
  /** Reads only. Undefined for a token that was never issued, and for a page that does not exist. */
  list(token: string, page: number): Promise<ApprovalList | undefined>;
  /** Reads only. Finds the next draft besides the one behind `token`. Undefined for a list that does not exist or has expired. */
  next(listToken: string, token: string): Promise<NextOnList | undefined>;
};
