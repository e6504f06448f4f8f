import type { AuditFields } from "../auditFields.ts";
import type { SlotsEvent } from "./events.ts";

export const slotsFields: AuditFields<SlotsEvent> = { holderId: "open", takenAt: "open", vacated: "open" };
