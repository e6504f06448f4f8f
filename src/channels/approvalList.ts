import type { RecordedOutcome } from "./approvalView.ts";

/**
 * What has become of a draft on a list. `waits`: its own page is behind this token; `warnings` is null if it is too long to be looked through here. `changed`: it has a newer version, which is asked about
 * elsewhere. `closed`: this link to it was closed. `elsewhere`: another mailbox approves for its identity now, and nothing of it is shown. `broken`: it
 * cannot be shown now.
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
  /** ISO time: since when it has been asked about; null if that is not known any more. */
  since: string | null;
  state: ListedState;
};

/** What one mail asked about. Those that wait come first, then the others; each page shows a part. */
export type ApprovalList = {
  /** How many drafts are on it, and how many of them wait. */
  total: number;
  waiting: number;
  /** From 1. */
  page: number;
  pages: number;
  drafts: ListedDraft[];
  /** ISO time; past it, nothing is to be shown. */
  expiresAt: string;
};

/** How the page asks. Throws Unavailable (src/eventStore/eventStore.ts). */
export type ApprovalLists = {
  /** Reads only. Undefined for a token that was never given out, and for a page that there is not. */
  list(token: string, page: number): Promise<ApprovalList | undefined>;
};
