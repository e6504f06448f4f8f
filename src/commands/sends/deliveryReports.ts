import type { ReportEvent } from "#streams/delivery/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";

/** Reported outcome of a sent mail. `evidence`: describes the source of the report. */
export type OutcomeReport = { attemptId: string; outcome: ReportedOutcome; evidence: string };

export type ReportedOutcome = "processed" | "delivered" | "dropped" | "bounced" | "complained";

/**
 * Records a reported outcome of a mail, each outcome once. If the hand-over's outcome was unknown, the report settles it. Returns false for
 * an attempt that handed nothing over.
 */
export async function reportDelivery(
  deps: Dependencies,
  { attemptId, ...said }: OutcomeReport,
  cause: Cause,
): Promise<boolean> {
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return false;
  const { draftId, threadId } = delivery.started;
  const { state: draft } = await deps.drafts.load(draftId);
  const data = { draftId, threadId, messageId: draft.messageId, evidence: said.evidence };
  const report = await reportEvent(said.outcome, data, async () => {
    const { to, cc, bcc } = await loadContent(deps.blobs, draft.stored);
    return to.length + cc.length + bcc.length === 1;
  });
  const command = { type: "ReportDelivery", report } as const;
  const { workspaceId } = draft;
  return (await deps.deliveries.handle(attemptId, command, { ...cause, workspaceId })).changed;
}

async function reportEvent(
  outcome: ReportedOutcome,
  data: Extract<ReportEvent, { type: "DeliveryDelivered" }>["data"],
  isToOne: () => Promise<boolean>,
): Promise<ReportEvent> {
  switch (outcome) {
    case "processed":
      return { type: "DeliveryProcessed", data };
    case "delivered":
      return { type: "DeliveryDelivered", data };
    case "dropped":
      return { type: "DeliveryDropped", data: { ...data, wholeMail: await isToOne() } };
    case "bounced":
      return { type: "DeliveryBounced", data };
    case "complained":
      return { type: "DeliveryComplained", data };
  }
}

/** Records another Message-ID of a mail, so that an answer to it joins the mail's thread. */
export async function learnMessageId(
  deps: Dependencies,
  { attemptId, rfcMessageId }: { attemptId: string; rfcMessageId: string },
  cause: Cause,
): Promise<void> {
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return;
  const { draftId, threadId } = delivery.started;
  const { workspaceId, identityId } = (await deps.drafts.load(draftId)).state;
  const learned = { draftId, threadId, identityId, rfcMessageId };
  await deps.deliveries.handle(attemptId, { type: "LearnMessageId", learned }, { ...cause, workspaceId });
}
