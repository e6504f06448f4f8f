import { recordBouncedRequest } from "#src/commands/approvals/bouncedRequests.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import type { ApprovalReplyEvent } from "#streams/approvalReply/events.ts";
import { idOf } from "#streams/event.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Process, WaitForModels } from "./process.ts";

/**
 * Records bounces of mail sent by the service. A bounce is recognised by the Message-ID that it reports, even if the bounce itself is held.
 * Bounces of approval mail arrive at the address that the mail is sent from.
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
      const { bouncedAttemptId, isComplaint = false, deliveryId } = event.data as FilingDecision;
      const outcome = isComplaint ? "complained" : "bounced";
      const evidence = `${isComplaint ? "a complaint" : "a bounce"} came back (delivery ${deliveryId})`;
      await reportDelivery(deps, { attemptId: bouncedAttemptId as string, outcome, evidence }, cause);
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
