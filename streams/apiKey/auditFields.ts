import type { AuditFields } from "../auditFields.ts";
import type { ApiKeyEvent } from "./events.ts";

export const apiKeyFields: AuditFields<ApiKeyEvent> = {
  workspaceId: "open",
  name: "salted",
  prefix: "salted",
  hash: "secret",
  scopes: "open",
};
