import type { AuditFields } from "../auditFields.ts";
import type { EmailAddressEvent } from "./events.ts";

export const emailAddressFields: AuditFields<EmailAddressEvent> = {
  address: "salted",
  identityId: "open",
  workspaceId: "open",
};
