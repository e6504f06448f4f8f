import type { AuditFields } from "../auditFields.ts";
import type { RuleRunEvent } from "./events.ts";

export const ruleRunFields: AuditFields<RuleRunEvent> = {
  workspaceId: "open",
  triggerEvent: "open",
  triggerEventId: "open",
  subject: { identityId: "open", threadId: "open", messageId: "open", draftId: "open", contactEmail: "salted" },
  ruleId: "open",
  draftId: "open",
  outcome: "open",
  results: "salted",
  facts: "salted",
  reason: "salted",
  suppressed: "salted",
};
