import type { ReportEvent } from "#streams/delivery/decider.ts";
import type { DeliveryRecipient } from "#streams/delivery/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";

/** Reported outcome of a sent mail. `evidence`: describes the source of the report. `recipients`: those that it names; default: none. */
export type OutcomeReport = {
  attemptId: string;
  outcome: ReportedOutcome;
  evidence: string;
  recipients?: readonly DeliveryRecipient[];
};

export type ReportedOutcome = "processed" | "delivered" | "delayed" | "dropped" | "bounced" | "complained";

/**
 * Records a reported outcome of a mail, each outcome once for each recipient. Of the recipients only those are recorded that the mail was
 * sent to; a report about the only recipient of a mail is about that one, whatever address it names, and a delivery that names nobody is of all. If the hand-over's outcome was unknown, the report settles it. Returns false for
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
  const { to, cc, bcc } = await loadContent(deps.blobs, draft.stored);
  const all = [...to, ...cc, ...bcc];
  const named = said.recipients ?? [];
  const isOfAll = named.length === 0 && (all.length === 1 || said.outcome === "delivered");
  const recipients = isOfAll
    ? all.map((address) => ({ address, code: null, text: null }))
    : recipientsAmong(all, named);
  const common = { draftId, threadId, messageId: draft.messageId, evidence: said.evidence };
  const data = { ...common, ...(recipients.length > 0 && { recipients }) };
  const command = { type: "ReportDelivery", report: reportEvent(said.outcome, data, all.length === 1), to } as const;
  const { workspaceId } = draft;
  return (await deps.deliveries.handle(attemptId, command, { ...cause, workspaceId })).changed;
}

/** Returns the reported recipients under the addresses that the mail has. */
function recipientsAmong(all: readonly string[], reported: readonly DeliveryRecipient[]): DeliveryRecipient[] {
  const sentTo = (address: string | undefined) => all.find((each) => each.toLowerCase() === address?.toLowerCase());
  const [only] = all.length === 1 ? all : [];
  return reported.flatMap(({ address, final, ...said }) => {
    const known = sentTo(address) ?? sentTo(final) ?? only;
    if (known === undefined) return [];
    const other = [final, address].find((each) => each !== undefined && each.toLowerCase() !== known.toLowerCase());
    return [{ address: known, ...(other !== undefined && { final: other }), ...said }];
  });
}

function reportEvent(
  outcome: ReportedOutcome,
  data: Extract<ReportEvent, { type: "DeliveryDelivered" }>["data"],
  isToOne: boolean,
): ReportEvent {
  switch (outcome) {
    case "processed":
      return { type: "DeliveryProcessed", data };
    case "delivered":
      return { type: "DeliveryDelivered", data };
    case "delayed":
      return { type: "DeliveryDelayed", data };
    case "dropped":
      return { type: "DeliveryDropped", data: { ...data, wholeMail: isToOne } };
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
