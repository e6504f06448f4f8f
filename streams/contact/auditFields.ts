import type { AuditFields } from "../auditFields.ts";
import type { ContactEvent } from "./events.ts";

export const contactFields: AuditFields<ContactEvent> = {
  workspaceId: "open",
  email: "salted",
  name: "salted",
  status: "open",
  tags: "salted",
  tag: "salted",
};
