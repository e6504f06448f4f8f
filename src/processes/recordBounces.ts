import { recordBouncedRequest } from "#src/commands/approvals/bouncedRequests.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { readReceivedAt } from "#src/commands/inbound/readMail.ts";
import { type OutcomeReport, reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import type { ApprovalReplyEvent } from "#streams/approvalReply/events.ts";
import type { DeliveryRecipient } from "#streams/delivery/events.ts";
import { idOf } from "#streams/event.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { MailHeaders, ReportedRecipient } from "#streams/inbox/events.ts";
import type { Process, WaitForModels } from "./process.ts";

/**
 * Records what reports say of mail that the service sent, for each recipient: bounces, delays, deliveries, complaints. The mail is
 * recognised by the Message-ID that the report encloses or answers, even if the report itself is held. Bounces of approval mail arrive at
 * the address that the mail is sent from.
 */
export const recordBounces = (deps: Dependencies): Process => ({
  name: "recordBounces",
  categories: ["filing", "approvalReply"],
  keyOf: (event) => idOf(event.stream),
  concerns: ({ type, data }) =>
    type === "FilingDecided"
      ? (data as FilingDecision).bouncedAttemptId !== null
      : (data as ApprovalReplyEvent["data"]).headers.classification === "bounce",
  on: {
    FilingDecided: async (event, { cause }) => {
      const { bouncedAttemptId, inboxRevision, deliveryId } = event.data as FilingDecision;
      const { headers } = (await readReceivedAt(deps, idOf(event.stream), inboxRevision)).data;
      for (const { outcome, what, recipients } of reportsIn(headers)) {
        const evidence = `${what} came back (delivery ${deliveryId})`;
        await reportDelivery(deps, { attemptId: bouncedAttemptId as string, outcome, evidence, recipients }, cause);
      }
    },
    ApprovalReplyReceived: async (event, { cause, reached }): Promise<WaitForModels | undefined> => {
      // The read model of drafts says which requests a bundle mail contained.
      const of = ["drafts"] as const;
      if (!(await reached(event.position, of))) return { waitFor: event.position, of };
      const { headers, deliveryId } = event.data as ApprovalReplyEvent["data"];
      for (const id of headers.reportedMessageIds) {
        const origin = deps.messageIds.open(id);
        if (origin) await recordBouncedRequest(deps, { origin, evidence: `delivery ${deliveryId}` }, cause);
      }
      return undefined;
    },
  },
});

type Told = Pick<OutcomeReport, "outcome"> & { what: string; recipients: DeliveryRecipient[] };

/** Returns what a report says, by outcome. A bounce that names no recipient is one all the same. */
function reportsIn({ classification, isComplaint, reportedRecipients = [] }: MailHeaders): Told[] {
  const of = (wanted: ReportedRecipient["status"]): DeliveryRecipient[] =>
    reportedRecipients.filter(({ status }) => status === wanted).map(({ status: _, ...recipient }) => recipient);
  const [bounced, delayed, delivered] = [of("bounced"), of("delayed"), of("delivered")];
  const isBounce = classification === "bounce" && (bounced.length > 0 || delayed.length + delivered.length === 0);
  const told: (Told | false)[] = [
    isComplaint === true && { outcome: "complained", what: "a complaint", recipients: [] },
    delivered.length > 0 && { outcome: "delivered", what: "a report", recipients: delivered },
    delayed.length > 0 && { outcome: "delayed", what: "a report of a delay", recipients: delayed },
    isBounce && { outcome: "bounced", what: "a bounce", recipients: bounced },
  ];
  return told.filter((each) => each !== false);
}
