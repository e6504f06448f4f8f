import type { AuditFields } from "../auditFields.ts";
import type { AssistantEvent } from "./events.ts";

const settings = { name: "salted", description: "salted", status: "open" } as const;

export const assistantFields: AuditFields<AssistantEvent> = { ...settings, workspaceId: "open", changes: settings };
