import type { AuditFields } from "../auditFields.ts";
import { inboxFields } from "../inbox/auditFields.ts";
import type { StrayMailEvent } from "./events.ts";

export const strayMailFields: AuditFields<StrayMailEvent> = {
  ...inboxFields,
  reason: "salted",
  contentType: "salted",
};
