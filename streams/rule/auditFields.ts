import type { AuditFields } from "../auditFields.ts";
import type { RuleEvent } from "./events.ts";

const settings = {
  triggerEvent: "open",
  status: "open",
  identityId: "open",
  assistantId: "open",
  name: "salted",
  conditions: "salted",
  actions: "secret",
} as const;

export const ruleFields: AuditFields<RuleEvent> = { ...settings, workspaceId: "open", changes: settings };
