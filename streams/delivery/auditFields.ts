import type { AuditFields } from "../auditFields.ts";
import type { DeliveryEvent } from "./events.ts";

export const deliveryFields: AuditFields<DeliveryEvent> = {
  draftId: "open",
  threadId: "open",
  messageId: "open",
  identityId: "open",
  contentSha256: "open",
  mimeSha256: "open",
  provider: "open",
  instanceId: "open",
  fence: "open",
  code: "open",
  outcome: "open",
  rfcMessageId: "salted",
  because: "salted",
  message: "salted",
  response: "salted",
  providerId: "salted",
  rejectedRecipients: "salted",
  recipients: "salted",
  evidence: "salted",
};
