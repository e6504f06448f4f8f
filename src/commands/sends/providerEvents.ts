import pLimit from "p-limit";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { recordUndelivered } from "../approvals/undelivered.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { requireProjected } from "../readModels.ts";
import { learnMessageId, type ReportedOutcome, reportDelivery } from "./deliveryReports.ts";

/**
 * What a delivery provider tells about a mail of ours. `attemptId` and `markedId` (our Message-ID) are the marks that the mail carried, `wireId` is
 * the Message-ID that it travels under, if they say so. `evidence`: the provider's words.
 */
export type ProviderEvent = {
  attemptId: string;
  markedId: string | null;
  wireId: string | null;
  outcome: ReportedOutcome;
  evidence: string;
};

/** Mails that are worked on at once. */
const atOnce = 16;

/** Better news first: so that events of one batch come to the same as in the order in which they happened. */
const order: readonly ReportedOutcome[] = ["processed", "delivered", "dropped", "bounced", "complained"];

/**
 * Records what a provider tells, in any order and as often as it likes. What is not about a mail of this provider's is left aside. Resolves once
 * all of it is durable; throws what failed, after all the others were tried.
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

type OfOne = { provider: string; events: readonly ProviderEvent[] };

async function recordOne(deps: Dependencies, { provider, events }: OfOne, cause: Cause): Promise<void> {
  const { attemptId } = events[0] as ProviderEvent;
  const { state: delivery } = await deps.deliveries.load(attemptId);
  if (delivery.started === null) return recordNotice(deps, events, cause);
  if (delivery.started.provider !== provider) return;
  for (const outcome of order) {
    const told = events.find((event) => event.outcome === outcome);
    if (told && !delivery.reports.includes(reported[outcome]))
      await reportDelivery(deps, { attemptId, outcome, evidence: told.evidence }, cause);
  }
  const ids = new Set(events.map(({ wireId }) => wireId).filter((id) => id !== null));
  for (const rfcMessageId of ids) {
    // One that is ours leads to its thread by itself.
    if (!deps.messageIds.open(rfcMessageId)) await learnMessageId(deps, { attemptId, rfcMessageId }, cause);
  }
}

const reported = {
  processed: "DeliveryProcessed",
  delivered: "DeliveryDelivered",
  dropped: "DeliveryDropped",
  bounced: "DeliveryBounced",
  complained: "DeliveryComplained",
} as const;

/** A mail of the service's own: an approver who was not reached is asked elsewhere. */
async function recordNotice(deps: Dependencies, events: readonly ProviderEvent[], cause: Cause): Promise<void> {
  const failed = events.find(({ outcome }) => outcome === "bounced" || outcome === "dropped");
  const origin = deps.messageIds.open(failed?.markedId ?? "");
  if (!failed || origin?.attemptId !== failed.attemptId) return;
  // Which drafts a mail about several asked about, their read model says.
  if (origin.threadId === noThread) await requireProjected(deps, await deps.store.head(), ["drafts"]);
  await recordUndelivered(deps, { origin, evidence: failed.evidence }, cause);
}

/** Records what SendGrid tells, in its name. */
export const sendGridReports =
  (deps: Dependencies) =>
  (events: ProviderEvent[], requestId: string): Promise<void> => {
    const actor = { kind: "system", id: "sendgrid", requestId } as const;
    const cause: Cause = { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
    return recordProviderEvents(deps, { provider: "sendgrid", events }, cause);
  };
