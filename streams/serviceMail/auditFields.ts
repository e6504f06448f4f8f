import type { AuditFields } from "../auditFields.ts";
import type { ServiceMailEvent } from "./events.ts";

export const serviceMailFields: AuditFields<ServiceMailEvent> = {
  workspaceId: "open",
  because: "open",
  at: "open",
  address: "salted",
};
