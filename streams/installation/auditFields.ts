import type { AuditFields } from "../auditFields.ts";
import type { InstallationEvent } from "./events.ts";

export const installationFields: AuditFields<InstallationEvent> = { reason: "salted" };
