import type { AuditFields } from "../auditFields.ts";
import type { AuditEpochEvent } from "./events.ts";

export const auditEpochFields: AuditFields<AuditEpochEvent> = { last: "open", reason: "salted" };
