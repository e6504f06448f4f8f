import type { AuditFields } from "../auditFields.ts";
import type { FilingEvent } from "./events.ts";

export const filingFields: AuditFields<FilingEvent> = {
  deliveryId: "open",
  deliveryIds: "open",
  messageId: "open",
  threadId: "open",
  absorbs: "open",
  releases: "open",
  bouncedAttemptId: "open",
  disposition: "open",
  kind: "open",
  sentBy: "open",
  classification: "open",
  emoji: "salted",
  reviewReason: "open",
  contentDigest: "open",
  reason: "salted",
  chainIds: "salted",
  rfcMessageId: "salted",
};
