import type { AuditFields } from "../auditFields.ts";
import type { UserEmailEvent } from "./events.ts";

export const userEmailFields: AuditFields<UserEmailEvent> = { userId: "open", email: "salted" };
