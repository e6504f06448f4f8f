import type { AuditFields } from "../auditFields.ts";
import type { WebhookEvent } from "./events.ts";

const settings = {
  events: "open",
  identityIds: "open",
  status: "open",
  url: "salted",
  description: "salted",
} as const;

export const webhookFields: AuditFields<WebhookEvent> = {
  ...settings,
  workspaceId: "open",
  previousUntil: "open",
  because: "salted",
  secret: "secret",
  secrets: "secret",
  changes: settings,
};
