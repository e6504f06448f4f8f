import type { AuditFields } from "../auditFields.ts";
import type { BillingEvent } from "./events.ts";

export const billingFields: AuditFields<BillingEvent> = {
  because: "salted",
  customerId: "open",
  followed: "open",
  subscriptions: "open",
  subscriptionId: "open",
  kept: "open",
  sessionId: "open",
  plan: "open",
  interval: "open",
  expiresAt: "open",
};
