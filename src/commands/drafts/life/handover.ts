import type { DeliveryReport } from "#streams/delivery/events.ts";
import { unreachable } from "#streams/unreachable.ts";
import type { DraftLife, Handover, HandoverStart, ProviderReport } from "./life.ts";
import type { LifeEvent } from "./lifeEvents.ts";

export const notHandedOver: Handover = { is: "none" };

type DeliveryLifeEvent = Extract<LifeEvent, { type: `Delivery${string}` }>;

type Reported = Pick<DeliveryReport, "evidence" | "recipients">;

/**
 * Applies a delivery event to the life. The event always belongs to the newest attempt, because an attempt begins only after the previous
 * one is closed.
 */
export function applyDelivery(
  { handover, reports }: Pick<DraftLife, "handover" | "reports">,
  event: DeliveryLifeEvent,
): Partial<Pick<DraftLife, "handover" | "reports">> {
  const { at } = event;
  const started = "started" in handover ? handover.started : null;
  const reported = (type: ProviderReport["type"], { evidence, recipients = [] }: Reported) => ({
    reports: [...reports, { type, at, evidence, recipients }],
  });
  switch (event.type) {
    case "DeliveryStarted": {
      const { provider, version, contentSha256, mimeSha256 } = event.data;
      return { handover: { is: "started", started: { at, provider, version, contentSha256, mimeSha256 } } };
    }
    case "DeliveryAbandoned":
      return { handover: { is: "abandoned", at, because: event.data.because } };
    case "DeliveryNotHandedOver":
      return { handover: { is: "not handed over", at, message: event.data.message } };
    case "DeliveryAccepted": {
      const { response, rejectedRecipients: refused } = event.data;
      return { handover: { is: "accepted", at, started, response, refused } };
    }
    case "DeliveryRefused": {
      const { message, retryable } = event.data;
      return { handover: { is: "refused", at, started, message, isFinal: !retryable } };
    }
    case "DeliveryUnknown":
      return { handover: { is: "unknown", at, started, message: event.data.message } };
    case "DeliverySettled":
      return { handover: settled(event, started) };
    case "DeliveryProcessed":
      return reported("processed", event.data);
    case "DeliveryDelivered":
      return reported("delivered", event.data);
    case "DeliveryDelayed":
      return reported("delayed", event.data);
    case "DeliveryDropped":
      return reported("dropped", event.data);
    case "DeliveryBounced":
      return reported("bounced", event.data);
    case "DeliveryComplained":
      return reported("complained", event.data);
    case "DeliveryMessageIdLearned":
      return {};
    default:
      return unreachable(event);
  }
}

function settled(
  { at, data: { outcome, evidence } }: Extract<LifeEvent, { type: "DeliverySettled" }>,
  started: HandoverStart | null,
): Handover {
  switch (outcome) {
    case "accepted":
      return { is: "accepted", at, started, response: evidence, refused: [] };
    case "refused":
      return { is: "refused", at, started, message: evidence, isFinal: true };
    case "unconfirmed":
      return { is: "unknown", at, started, message: evidence };
    default:
      return unreachable(outcome);
  }
}
