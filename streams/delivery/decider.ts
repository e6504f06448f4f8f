import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type DeliveryEvent, deliveryStream } from "./events.ts";

type Started = Extract<DeliveryEvent, { type: "DeliveryStarted" }>["data"];

export type Delivery = {
  phase: "none" | "started" | "abandoned" | "not_handed_over" | "accepted" | "refused" | "unknown" | "unconfirmed";
  started: Started | null;
  retryable: boolean;
  message: string;
  /** Not handed over because the service itself did not let it go. */
  withheld: boolean;
  code: string;
  /** What became of it, as far as anybody said: each is recorded once. */
  reports: readonly ReportEvent["type"][];
};

type Outcome = Extract<
  DeliveryEvent,
  { type: "DeliveryNotHandedOver" | "DeliveryAccepted" | "DeliveryRefused" | "DeliveryUnknown" }
>;

/** What a mailbox, or somebody on the way there, said about a mail that was handed over. */
export type ReportEvent = Extract<
  DeliveryEvent,
  { type: "DeliveryDelivered" | "DeliveryBounced" | "DeliveryComplained" }
>;

export type DeliveryCommand =
  | { type: "StartDelivery"; started: Started }
  | { type: "AbandonDelivery"; draftId: string; because: string }
  | { type: "RecordOutcome"; outcome: Outcome }
  | { type: "ReportDelivery"; report: ReportEvent }
  | { type: "SettleDelivery"; outcome: "accepted" | "refused" | "unconfirmed"; evidence: string };

const initial: Delivery = {
  phase: "none",
  started: null,
  retryable: false,
  message: "",
  withheld: false,
  code: "",
  reports: [],
};

function evolve(delivery: Delivery, event: DeliveryEvent): Delivery {
  switch (event.type) {
    case "DeliveryStarted":
      return { ...delivery, phase: "started", started: event.data };
    case "DeliveryAbandoned":
      return { ...delivery, phase: "abandoned", message: event.data.because };
    case "DeliveryNotHandedOver":
      return {
        ...delivery,
        phase: "not_handed_over",
        retryable: true,
        message: event.data.message,
        withheld: event.data.withheld === true,
      };
    case "DeliveryAccepted":
      return { ...delivery, phase: "accepted", message: event.data.response };
    case "DeliveryRefused":
      return { ...delivery, phase: "refused", ...event.data };
    case "DeliveryUnknown":
      return { ...delivery, phase: "unknown", message: event.data.message };
    case "DeliveryDelivered":
    case "DeliveryBounced":
    case "DeliveryComplained":
      return { ...delivery, reports: [...delivery.reports, event.type] };
    case "DeliverySettled":
      return { ...delivery, phase: event.data.outcome, message: event.data.evidence };
    default:
      return unreachable(event);
  }
}

function decide(command: DeliveryCommand, delivery: Delivery): DeliveryEvent[] {
  switch (command.type) {
    case "StartDelivery":
      // No "already so" here: whoever finds it started did not start it, and may not hand over.
      if (delivery.phase !== "none") throw new Rejected("send_in_progress", `this attempt is ${delivery.phase}`);
      return [{ type: "DeliveryStarted", data: command.started }];
    case "AbandonDelivery":
      if (delivery.phase !== "none") return [];
      return [{ type: "DeliveryAbandoned", data: { draftId: command.draftId, because: command.because } }];
    case "RecordOutcome":
      return recordOutcome(command.outcome, delivery);
    case "ReportDelivery":
      return report(command.report, delivery);
    case "SettleDelivery":
      if (delivery.phase !== "unknown" && delivery.phase !== "unconfirmed") return [];
      if (command.outcome === delivery.phase) return [];
      return [{ type: "DeliverySettled", data: { outcome: command.outcome, evidence: command.evidence } }];
    default:
      return unreachable(command);
  }
}

/** The provider's answer. One that comes after somebody gave up waiting is evidence, and settles. */
function recordOutcome(outcome: Outcome, delivery: Delivery): DeliveryEvent[] {
  if (delivery.phase === "started") {
    const reported = outcome.type === "DeliveryUnknown" && delivery.reports.length > 0;
    return reported ? [outcome, settled("accepted", "what became of the mail was reported before")] : [outcome];
  }
  if (delivery.phase !== "unknown" && delivery.phase !== "unconfirmed") return [];
  if (outcome.type === "DeliveryAccepted") return [settled("accepted", outcome.data.response)];
  if (outcome.type === "DeliveryRefused" || outcome.type === "DeliveryNotHandedOver") {
    return [settled("refused", outcome.data.message)];
  }
  return [];
}

/** Whoever can say what became of a mail proves that it was taken. Of an attempt that never started nothing can have become. */
function report(reported: ReportEvent, delivery: Delivery): DeliveryEvent[] {
  if (delivery.started === null || delivery.reports.includes(reported.type)) return [];
  const unsettled = delivery.phase === "unknown" || delivery.phase === "unconfirmed";
  return unsettled ? [reported, settled("accepted", reported.data.evidence)] : [reported];
}

const settled = (outcome: "accepted" | "refused", evidence: string): DeliveryEvent => ({
  type: "DeliverySettled",
  data: { outcome, evidence },
});

export const deliveryDecider: Decider<Delivery, DeliveryCommand, DeliveryEvent> = {
  category: "delivery",
  initial,
  evolve,
  decide,
};

export const deliveries = stream({ decider: deliveryDecider, name: deliveryStream });
