import type { AuditFields } from "../auditFields.ts";
import type { WorkspaceEvent } from "./events.ts";

export const workspaceFields: AuditFields<WorkspaceEvent> = {
  plan: "open",
  planStatus: "open",
  interval: "open",
  createdAt: "open",
  trialEndsAt: "open",
  currentPeriodStart: "open",
  currentPeriodEnd: "open",
  renewsAt: "open",
  periodsFrom: "open",
  countsOn: "open",
  name: "salted",
  slug: "salted",
  reason: "salted",
};
