import type { AuditFields } from "../auditFields.ts";
import type { InboxEvent } from "./events.ts";

export const inboxFields: AuditFields<InboxEvent> = {
  deliveryId: "open",
  workspaceId: "open",
  identityId: "open",
  envelope: "salted",
  remote: "salted",
  rawSha256: "open",
  headers: "salted",
};
