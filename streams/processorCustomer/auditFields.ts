import type { AuditFields } from "../auditFields.ts";
import type { ProcessorCustomerEvent } from "./events.ts";

export const processorCustomerFields: AuditFields<ProcessorCustomerEvent> = {
  workspaceId: "open",
  eventId: "open",
  eventType: "open",
  happenedAt: "open",
};
