import pLimit from "p-limit";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import type { Delivery } from "#streams/delivery/decider.ts";
import type { DeliveryRecipient } from "#streams/delivery/events.ts";
import { newRecipients } from "#streams/delivery/recipients.ts";
import { recordBouncedRequest } from "../approvals/bouncedRequests.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { requireProjected } from "../readModels.ts";
import { learnMessageId, type ReportedOutcome, reportDelivery } from "./deliveryReports.ts";

/**
 * Event of a delivery provider about a sent mail. `attemptId` and `markedId` (our Message-ID) were added to the mail as marks. `wireId`:
 * Message-ID that the provider sent the mail with; null if not reported. `evidence`: the provider's text.
 */
export type ProviderEvent = {
  attemptId: string;
  markedId: string | null;
  wireId: string | null;
  outcome: ReportedOutcome;
  evidence: string;
  /** The recipient that the event is about; null if it names none. */
  recipient: DeliveryRecipient | null;
};

/** Number of mails whose events are handled concurrently. */
const atOnce = 16;

/** Order in which outcomes are recorded, better ones first, so that a batch has the same result in whatever order its events are listed. */
const order: readonly ReportedOutcome[] = ["processed", "delayed", "delivered", "dropped", "bounced", "complained"];

/**
 * Records a provider's events, which may be repeated and in any order. Ignores events about mail of other providers. Resolves when all are
 * durable. If one fails, tries all others before it throws.
 */
export async function recordProviderEvents(
  deps: Dependencies,
  { provider, events }: { provider: string; events: readonly ProviderEvent[] },
  cause: Cause,
): Promise<void> {
  const byAttempt = new Map<string, ProviderEvent[]>();
  for (const event of events) {
    const others = byAttempt.get(event.attemptId);
    if (others) others.push(event);
    else byAttempt.set(event.attemptId, [event]);
  }
  const failures: unknown[] = [];
  await pLimit(atOnce).map(byAttempt.values(), (mail) =>
    recordOne(deps, { provider, events: mail }, cause).catch((error) => void failures.push(error)),
  );
  if (failures.length > 0) throw failures.find((error) => !(error instanceof Unavailable)) ?? failures[0];
}

type EventsOfMail = { provider: string; events: readonly ProviderEvent[] };

async function recordOne(deps: Dependencies, { provider, events }: EventsOfMail, cause: Cause): Promise<void> {
  const { attemptId } = events[0] as ProviderEvent;
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return recordNotice(deps, events, cause);
  if (delivery.started.provider !== provider) return;
  for (const outcome of order) {
    const told = events.filter((event) => event.outcome === outcome);
    const recipients = told.flatMap(({ recipient }) => recipient ?? []);
    const isKnown =
      delivery.reports.includes(reported[outcome]) && newOf(delivery, { outcome, recipients }).length === 0;
    if (told[0] && !isKnown)
      await reportDelivery(deps, { attemptId, outcome, evidence: told[0].evidence, recipients }, cause);
  }
  const ids = new Set(events.map(({ wireId }) => wireId).filter((id) => id !== null));
  for (const rfcMessageId of ids) {
    // A Message-ID of this service contains its thread, so only other ids need a record.
    if (!deps.messageIds.open(rfcMessageId)) await learnMessageId(deps, { attemptId, rfcMessageId }, cause);
  }
}

const newOf = (
  { recipients: known }: Delivery,
  { outcome, recipients }: { outcome: ReportedOutcome; recipients: readonly DeliveryRecipient[] },
) => newRecipients(known, { type: reported[outcome], recipients });

const reported = {
  processed: "DeliveryProcessed",
  delayed: "DeliveryDelayed",
  delivered: "DeliveryDelivered",
  dropped: "DeliveryDropped",
  bounced: "DeliveryBounced",
  complained: "DeliveryComplained",
} as const;

/** Handles events about a notification mail. If an approval request did not reach its approver, another channel asks. */
async function recordNotice(deps: Dependencies, events: readonly ProviderEvent[], cause: Cause): Promise<void> {
  const failed = events.find(({ outcome }) => outcome === "bounced" || outcome === "dropped");
  const origin = deps.messageIds.open(failed?.markedId ?? "");
  if (!failed || origin?.attemptId !== failed.attemptId) return;
  // The read model of drafts says which requests a bundle mail contained, so it must be up to date.
  if (origin.threadId === noThread) await requireProjected(deps, await deps.store.head(), ["drafts"]);
  await recordBouncedRequest(deps, { origin, evidence: failed.evidence }, cause);
}

/** Returns a function that records events of SendGrid, with SendGrid as the actor. */
export const sendGridReports =
  (deps: Dependencies) =>
  (events: ProviderEvent[], requestId: string): Promise<void> => {
    const actor = { kind: "system", id: "sendgrid", requestId } as const;
    const cause: Cause = { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
    return recordProviderEvents(deps, { provider: "sendgrid", events }, cause);
  };
