import {
  type PaymentProcessor,
  ProcessorRefused,
  type ProcessorSubscription,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Billing } from "#streams/billing/decider.ts";
import { billingStream, type Subscription } from "#streams/billing/events.ts";
import { nextSubscriptionCheck } from "#streams/billing/nextCheck.ts";
import {
  isActiveSubscription,
  isCurrentOrStarting,
  type PlanFound,
  planFromSubscriptions,
} from "#streams/billing/planFrom.ts";
import type { Workspace } from "#streams/workspace/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

type Processor = Pick<PaymentProcessor, "subscriptionsOf" | "cancelAndRefund">;
type FollowInput = { workspaceId: string; payments: Processor };

/**
 * Reads a workspace's subscriptions and sets the workspace's plan accordingly. Returns when to read them again even if no event arrives;
 * null if that is not needed. Safe to run twice, even concurrently. Throws ProcessorUnavailable, ProcessorRefused.
 */
export async function followSubscriptions(
  deps: Dependencies,
  following: FollowInput,
  cause: Cause,
): Promise<Date | null> {
  for (;;) {
    const { state: billing } = await deps.billings.load(following.workspaceId);
    if (billing.customerId === null) return null;
    const read = await readOnce(deps, { ...following, billing, customerId: billing.customerId }, cause);
    if (read === "superseded") continue;
    await endSeconds(deps, following, cause);
    return nextSubscriptionCheck({ subscriptions: read, checkout: billing.checkout }, deps.clock.now());
  }
}

/** Reads and records the subscriptions. Returns "superseded" if another run recorded a newer reading meanwhile. */
async function readOnce(
  deps: Dependencies,
  { workspaceId, payments, billing, customerId }: FollowInput & { billing: Billing; customerId: string },
  cause: Cause,
): Promise<Subscription[] | "superseded"> {
  const answer = await payments.subscriptionsOf(customerId);
  const now = deps.clock.now();
  if (answer === "customer_unknown" && isPaidFor(billing, now)) throw otherAccount();
  const all = Array.isArray(answer) ? answer.filter((each) => each.customerId === customerId).map(asRead) : [];
  const { state: workspace } = await deps.workspaces.load(workspaceId);
  const found = planFromSubscriptions(all, { present: workspace, billing, now });
  const { followed } = found;
  const subscriptions = all.filter((each) => isCurrentOrStarting(each) || each.id === followed);
  const trialUsed = all.some(({ trialEnd }) => trialEnd !== null);
  const command = {
    type: "RecordSubscriptions",
    basedOn: billing.reads,
    read: { customerId, followed, trialUsed, subscriptions },
    seconds: found.seconds,
  } as const;
  const recorded = await deps.billings.handle(workspaceId, command, cause);
  const { reads, customerId: customerNow } = recorded.state;
  if (customerNow !== customerId || (!recorded.changed && reads !== billing.reads)) return "superseded";
  if (recorded.changed) raiseAlarms(deps, { workspaceId, found, subscriptions });
  const guard = { stream: billingStream(workspaceId), revision: recorded.revision };
  await setPlan(deps, { workspaceId, all, billing, now }, { ...cause, unlessMoved: [guard] });
  // This is the last step, so that an interrupted run is repeated with everything before it.
  if (!Array.isArray(answer)) await deps.billings.handle(workspaceId, { type: "LoseCustomer", customerId }, cause);
  return all;
}

/**
 * Milliseconds after the end of the paid period during which a paying customer unknown to the processor keeps the plan, so that the
 * operator can react. The usual cause is an API key of another account or of test mode, while the subscription continues in the right
 * account.
 */
const untilGivenUpMs = 7 * 24 * 3_600_000;

const isPaidFor = ({ subscriptions }: Billing, now: Date): boolean =>
  subscriptions.some(
    (each) => isActiveSubscription(each) && now.getTime() < Date.parse(each.periodEnd) + untilGivenUpMs,
  );

const otherAccount = (): ProcessorRefused =>
  new ProcessorRefused(
    "the payment processor does not know the customer of an active subscription: check that STRIPE_SECRET_KEY is of the same account and mode as before",
    "resource_missing",
  );

/** Sets the plan. It is judged with the workspace's state at the append, because the operator may have changed the plan meanwhile. */
async function setPlan(
  deps: Dependencies,
  { workspaceId, all, billing, now }: { workspaceId: string; all: Subscription[]; billing: Billing; now: Date },
  cause: Cause,
): Promise<void> {
  const command = (workspace: Workspace) => {
    const { subscribed } = planFromSubscriptions(all, { present: workspace, billing, now });
    return subscribed === null ? ({ type: "SetPlan" } as const) : ({ type: "FollowSubscription", subscribed } as const);
  };
  await deps.workspaces.handle(workspaceId, command, cause);
}

/**
 * Cancels and refunds second subscriptions. A second subscription is recorded before this, and marked as ended only after its refund, so an
 * interrupted run is repeated.
 */
async function endSeconds(deps: Dependencies, { workspaceId, payments }: FollowInput, cause: Cause): Promise<void> {
  const { seconds } = (await deps.billings.load(workspaceId)).state;
  for (const [subscriptionId, standing] of Object.entries(seconds)) {
    if (standing === "ended") continue;
    await payments.cancelAndRefund(subscriptionId);
    await deps.billings.handle(workspaceId, { type: "EndSecondSubscription", subscriptionId }, cause);
  }
}

/** Logs alarms for the operator. Called only when a reading differs from the previous one. */
function raiseAlarms(
  deps: Dependencies,
  { workspaceId, found, subscriptions }: { workspaceId: string; found: PlanFound; subscriptions: Subscription[] },
): void {
  const { followed, seconds, puzzle } = found;
  for (const subscriptionId of seconds) {
    const about = { workspaceId, subscriptionId, kept: followed };
    deps.log?.error(about, "a workspace has a second subscription: it is cancelled and refunded");
  }
  if (puzzle === null) return;
  const { status, priceId } = subscriptions.find(({ id }) => id === followed) ?? {};
  const about = { workspaceId, subscriptionId: followed, status, priceId };
  if (puzzle === "price")
    deps.log?.error(about, "a subscription has a price that no setting names: the workspace's plan is unchanged");
  else deps.log?.error(about, "a subscription has an unknown status: the workspace's plan is unchanged");
}

const asRead = ({ customerId: _, ...subscription }: ProcessorSubscription): Subscription => ({
  ...subscription,
  endedUnpaid: subscription.endedUnpaid ?? false,
});
