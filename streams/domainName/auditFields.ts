import type { AuditFields } from "../auditFields.ts";
import type { DomainNameEvent } from "./events.ts";

export const domainNameFields: AuditFields<DomainNameEvent> = { name: "salted", domainId: "open", workspaceId: "open" };
