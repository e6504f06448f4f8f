import type { ReportEvent } from "#streams/delivery/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/** What somebody says became of a mail of ours; `evidence`: who says so, in words. */
export type Report = { attemptId: string; outcome: "delivered" | "bounced" | "complained"; evidence: string };

const types: Record<Report["outcome"], ReportEvent["type"]> = {
  delivered: "DeliveryDelivered",
  bounced: "DeliveryBounced",
  complained: "DeliveryComplained",
};

/**
 * Records what became of a mail, each outcome once. If nobody knew whether the provider had taken it, that is settled with it. An attempt
 * that never handed anything over has nothing to report: false.
 */
export async function reportDelivery(deps: Dependencies, report: Report, cause: Cause): Promise<boolean> {
  const { attemptId, outcome, evidence } = report;
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return false;
  const { draftId, threadId } = delivery.started;
  const { state: draft } = await deps.drafts.load(draftId);
  const data = { draftId, threadId, messageId: draft.messageId, evidence };
  const command = { type: "ReportDelivery", report: { type: types[outcome], data } } as const;
  const { workspaceId } = draft;
  return (await deps.deliveries.handle(attemptId, command, { ...cause, workspaceId })).changed;
}
