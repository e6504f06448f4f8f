import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type DeliveryEvent, deliveryStream } from "./events.ts";
import { newRecipients, type RecipientStatus, type RecipientStatuses, withRecipients } from "./recipients.ts";

/** Failure code of the draft if no connection to a provider could be made. */
export type NoConnection = "provider_unavailable" | "provider_credentials";

type Started = Extract<DeliveryEvent, { type: "DeliveryStarted" }>["data"];

/**
 * `reports`: reported outcomes, each recorded once. `nobodyGetsIt`: the provider dropped the mail for its only recipient. `learnedIds`:
 * further Message-IDs of the mail.
 */
type DeliveryReports = {
  reports: readonly ReportEvent["type"][];
  nobodyGetsIt: boolean;
  learnedIds: readonly string[];
  /** What was reported of single recipients. */
  recipients: RecipientStatuses;
};

/**
 * A delivery whose hand-over has not begun. If it is `abandoned`, its hand-over never begins. `noConnection`: abandoned because no
 * connection could be made, which counts as an attempt.
 */
export type UnstartedDelivery = DeliveryReports &
  (
    | { phase: "none"; started: null }
    | { phase: "abandoned"; started: null; message: string; noConnection: NoConnection | null }
  );

/** The provider accepted the mail. `message`: its answer, or the evidence. */
export type AcceptedDelivery = DeliveryReports & { phase: "accepted"; started: Started; message: string };

/** Phase of the one attempt to hand over a mail, with the data of that phase. */
export type Delivery =
  | UnstartedDelivery
  | AcceptedDelivery
  | (DeliveryReports & { phase: "started"; started: Started })
  /** `withheld`: the service itself withheld the mail. */
  | (DeliveryReports & { phase: "not_handed_over"; started: Started; message: string; withheld: boolean })
  /** `code`: empty if known from evidence rather than an answer. `retryAfterSeconds`: 0 if the provider named no time. */
  | (DeliveryReports & {
      phase: "refused";
      started: Started;
      retryable: boolean;
      retryAfterSeconds: number;
      code: string;
      message: string;
    })
  | (DeliveryReports & { phase: "unknown" | "unconfirmed"; started: Started; message: string });

type ProviderOutcome = Extract<
  DeliveryEvent,
  { type: "DeliveryNotHandedOver" | "DeliveryAccepted" | "DeliveryRefused" | "DeliveryUnknown" }
>;

/** A report of a mailbox, or of a server on the way there, about a mail that was handed over. */
export type ReportEvent = Extract<
  DeliveryEvent,
  {
    type:
      | "DeliveryProcessed"
      | "DeliveryDelivered"
      | "DeliveryDelayed"
      | "DeliveryDropped"
      | "DeliveryBounced"
      | "DeliveryComplained";
  }
>;

type Learned = Extract<DeliveryEvent, { type: "DeliveryMessageIdLearned" }>["data"];

/** Maximum number of learned Message-IDs. A provider uses one per mail or one per recipient, and more than a few are useless. */
const maxLearnedIds = 10;

export type DeliveryCommand =
  | { type: "StartDelivery"; started: Started }
  | { type: "AbandonDelivery"; draftId: string; because: string; code?: NoConnection }
  | { type: "RecordOutcome"; outcome: ProviderOutcome }
  /** `to`: the mail's To, for a bounce. */
  | { type: "ReportDelivery"; report: ReportEvent; to?: readonly string[] }
  | { type: "LearnMessageId"; learned: Learned }
  | { type: "SettleDelivery"; outcome: "accepted" | "refused" | "unconfirmed"; evidence: string };

const initial: Delivery = {
  ...{ phase: "none", started: null, reports: [], nobodyGetsIt: false, learnedIds: [], recipients: {} },
};

function evolve(delivery: Delivery, event: DeliveryEvent): Delivery {
  const { started, reports, nobodyGetsIt, learnedIds, recipients } = delivery;
  const told = { reports, nobodyGetsIt, learnedIds, recipients };
  switch (event.type) {
    case "DeliveryStarted":
      return { phase: "started", started: event.data, ...told };
    case "DeliveryAbandoned":
      return {
        phase: "abandoned",
        started: null,
        message: event.data.because,
        noConnection: event.data.code ?? null,
        ...told,
      };
    case "DeliveryMessageIdLearned":
      return { ...delivery, learnedIds: [...learnedIds, event.data.rfcMessageId] };
    case "DeliveryDropped":
      return { ...reportedBy(delivery, event), nobodyGetsIt: nobodyGetsIt || event.data.wholeMail };
    case "DeliveryProcessed":
    case "DeliveryDelivered":
    case "DeliveryDelayed":
    case "DeliveryBounced":
    case "DeliveryComplained":
      return reportedBy(delivery, event);
    case "DeliveryNotHandedOver":
    case "DeliveryAccepted":
    case "DeliveryRefused":
    case "DeliveryUnknown":
    case "DeliverySettled":
      // Only a started delivery has an outcome.
      return started === null ? delivery : { ...endedBy(event), started, ...told };
    default:
      return unreachable(event);
  }
}

const reportedBy = (delivery: Delivery, { type, data }: ReportEvent): Delivery => ({
  ...delivery,
  reports: delivery.reports.includes(type) ? delivery.reports : [...delivery.reports, type],
  recipients: withRecipients(delivery.recipients, { type, recipients: data.recipients ?? [] }),
});

function endedBy(event: ProviderOutcome | Settled) {
  switch (event.type) {
    case "DeliveryNotHandedOver": {
      const { message, withheld = false } = event.data;
      return { phase: "not_handed_over", message, withheld } as const;
    }
    case "DeliveryAccepted":
      return { phase: "accepted", message: event.data.response } as const;
    case "DeliveryRefused": {
      const { retryable, code, message, retryAfterSeconds = 0 } = event.data;
      return { phase: "refused", retryable, retryAfterSeconds, code, message } as const;
    }
    case "DeliveryUnknown":
      return { phase: "unknown", message: event.data.message } as const;
    case "DeliverySettled": {
      const { outcome, evidence: message } = event.data;
      if (outcome === "refused")
        return { phase: outcome, retryable: false, retryAfterSeconds: 0, code: "", message } as const;
      return { phase: outcome, message };
    }
    default:
      return unreachable(event);
  }
}

type Settled = Extract<DeliveryEvent, { type: "DeliverySettled" }>;

function decide(command: DeliveryCommand, delivery: Delivery): DeliveryEvent[] {
  switch (command.type) {
    case "StartDelivery":
      // Throws instead of returning no events: a caller that finds the attempt already started must not hand over the mail.
      if (delivery.phase !== "none") throw new Rejected("send_in_progress", `this attempt is ${delivery.phase}`);
      return [{ type: "DeliveryStarted", data: command.started }];
    case "AbandonDelivery": {
      if (delivery.phase !== "none") return [];
      const { draftId, because, code } = command;
      return [{ type: "DeliveryAbandoned", data: { draftId, because, ...(code && { code }) } }];
    }
    case "RecordOutcome":
      return recordOutcome(command.outcome, delivery);
    case "ReportDelivery":
      return report(command, delivery);
    case "LearnMessageId":
      return learn(command.learned, delivery);
    case "SettleDelivery":
      if (delivery.phase !== "unknown" && delivery.phase !== "unconfirmed") return [];
      if (command.outcome === delivery.phase) return [];
      return [settled(delivery, command.outcome, command.evidence)];
    default:
      return unreachable(command);
  }
}

/**
 * Records the provider's answer. An answer after the caller gave up waiting is evidence, and settles the outcome. An earlier report of the
 * provider outweighs a temporary refusal or an unknown outcome.
 */
function recordOutcome(outcome: ProviderOutcome, delivery: Delivery): DeliveryEvent[] {
  if (delivery.phase === "started") {
    const isOpen = outcome.type === "DeliveryUnknown" || (outcome.type === "DeliveryRefused" && outcome.data.retryable);
    return isOpen && delivery.reports.length > 0
      ? [outcome, settled(delivery, shownBy(delivery), "the outcome of this mail was already reported")]
      : [outcome];
  }
  if (delivery.phase !== "unknown" && delivery.phase !== "unconfirmed") return [];
  if (outcome.type === "DeliveryAccepted") return [settled(delivery, "accepted", outcome.data.response)];
  if (outcome.type === "DeliveryRefused" || outcome.type === "DeliveryNotHandedOver") {
    return [settled(delivery, "refused", outcome.data.message)];
  }
  return [];
}

/**
 * Records a report, once for its kind and each recipient. It settles an unknown outcome and a temporary refusal: a provider that has the mail must not get it again.
 * DeliveryProcessed is recorded only if it was not yet known that the provider accepted the mail. An attempt that never started has no
 * outcome.
 */
function report(command: Extract<DeliveryCommand, { type: "ReportDelivery" }>, delivery: Delivery): DeliveryEvent[] {
  const reported = newsIn(command, delivery);
  if (delivery.started === null || reported === null) return [];
  const toBeRetried = delivery.phase === "refused" && delivery.retryable;
  const unsettled = delivery.phase === "unknown" || delivery.phase === "unconfirmed" || toBeRetried;
  if (unsettled) return [reported, settled(delivery, shownBy(evolve(delivery, reported)), reported.data.evidence)];
  if (reported.type === "DeliveryProcessed" && (delivery.phase !== "started" || delivery.reports.length > 0)) return [];
  return [reported];
}

/** Returns the report with the recipients of which it is new; null if nothing in it is. */
function newsIn({ report, to = [] }: Extract<DeliveryCommand, { type: "ReportDelivery" }>, delivery: Delivery) {
  const { recipients: said = [], ...rest } = report.data;
  const fresh = newRecipients(delivery.recipients, { type: report.type, recipients: said });
  if (delivery.reports.includes(report.type) && fresh.length === 0) return null;
  const data = { ...rest, ...(fresh.length > 0 && { recipients: fresh }) };
  if (report.type === "DeliveryDelivered" && delivery.reports.includes(report.type))
    return { ...report, data: { ...data, again: true as const } };
  if (report.type !== "DeliveryBounced" && report.type !== "DeliveryDropped") return { ...report, data } as ReportEvent;
  const { recipients } = evolve(delivery, { ...report, data } as ReportEvent);
  const isPart = to.some((address) => !isLost(recipients[address.toLowerCase()]));
  return { ...report, data: { ...data, ...(isPart && { part: true as const }) } } as ReportEvent;
}

const isLost = (status: RecipientStatus | undefined): boolean => status === "bounced" || status === "failed";

/** Derives the result of the hand-over from reports: the provider had accepted the mail, unless it only dropped the whole mail. */
const shownBy = ({ reports, nobodyGetsIt }: Delivery): "accepted" | "refused" =>
  nobodyGetsIt && reports.every((type) => type === "DeliveryDropped") ? "refused" : "accepted";

function learn(learned: Learned, { started, learnedIds }: Delivery): DeliveryEvent[] {
  const { rfcMessageId } = learned;
  const known = started === null || started.rfcMessageId === rfcMessageId || learnedIds.includes(rfcMessageId);
  return known || learnedIds.length >= maxLearnedIds ? [] : [{ type: "DeliveryMessageIdLearned", data: learned }];
}

const settled = (
  { started: { draftId } }: { started: Started },
  outcome: Settled["data"]["outcome"],
  evidence: string,
): DeliveryEvent => ({ type: "DeliverySettled", data: { outcome, evidence, draftId } });

export const deliveryDecider: Decider<Delivery, DeliveryCommand, DeliveryEvent> = {
  category: "delivery",
  initial,
  evolve,
  decide,
};

export const deliveries = stream({ decider: deliveryDecider, name: deliveryStream });
