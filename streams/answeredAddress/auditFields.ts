import type { AuditFields } from "../auditFields.ts";
import type { AnsweredAddressEvent } from "./events.ts";

export const answeredAddressFields: AuditFields<AnsweredAddressEvent> = {
  workspaceId: "open",
  draftId: "open",
  messageId: "open",
  receivedAt: "open",
  at: "open",
  by: "open",
};
