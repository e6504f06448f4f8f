import type { AuditFields } from "../auditFields.ts";
import type { QuotaEvent } from "./events.ts";

export const quotaFields: AuditFields<QuotaEvent> = { reservationId: "open" };
