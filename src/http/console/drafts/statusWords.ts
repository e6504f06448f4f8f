import type { WireDraft } from "../../present/drafts.ts";

/** Statuses in words. */
export const statusWords: Record<WireDraft["status"], string> = {
  pending: "Waiting for a decision",
  approved: "Approved, not sent yet",
  sending: "Being sent",
  sent: "Sent",
  stale: "Stopped by a newer message",
  rejected: "Rejected",
  failed: "Failed",
};
