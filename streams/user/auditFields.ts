import type { AuditFields } from "../auditFields.ts";
import type { UserEvent } from "./events.ts";

export const userFields: AuditFields<UserEvent> = {
  sessionId: "salted",
  because: "open",
  email: "salted",
  name: "salted",
};
