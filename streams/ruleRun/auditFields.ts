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
  results: "secret",
  facts: "salted",
  reason: "salted",
  suppressed: "salted",
};
