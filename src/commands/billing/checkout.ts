import type { CheckoutRequest, Interval, PaidPlan, PaymentProcessor } from "#src/payments/paymentProcessor.ts";
import { works } from "#streams/billing/planFrom.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { askProcessor } from "./asking.ts";
import { askForSubscriptions, keepCheckout, payerOf } from "./customers.ts";

const trialDays = 30;

export type Wanted = { workspaceId: string; plan: PaidPlan; interval: Interval };

/**
 * Opens a page of the payment processor's on which the workspace can start a subscription, and ends the one that was open before: of two opened
 * at once, only one can be finished. Throws Rejected stripe_customer_missing, invalid_request (409: subscribed already), stripe_error.
 */
export const startCheckout = (
  deps: Dependencies,
  wanted: Wanted,
  // A repetition has a page of its own to record: the one of the first run is no effect of it.
  { operation: _, repeated: __, ...cause }: Cause,
): Promise<{ url: string }> =>
  askProcessor(deps, async (payments) => {
    const { workspaceId, plan, interval } = wanted;
    const { trialUsed, ...payer } = await payerOf(deps, workspaceId);
    if (payer.isSubscribed) throw subscribed();
    const { customerId } = payer;
    if (customerId === null) throw customerMissing();
    let replaces = payer.checkout?.sessionId ?? null;
    await endOpen(deps, { ...wanted, payments, customerId, sessionId: replaces }, cause);
    const request = { workspaceId, plan, interval, customerId, trialDays: trialUsed ? null : trialDays };
    const { sessionId, url, expiresAt } = await payments.checkout({ ...request, ...detailsOf(deps) });
    const checkout = { sessionId, plan, interval, expiresAt };
    // Nobody is told the page before it is on record. Where another request was faster, its page ends before this one is told.
    while (!(await keepCheckout(deps, { workspaceId, checkout, replaces }, cause))) {
      const now = await payerOf(deps, workspaceId);
      if (now.isSubscribed) throw subscribed();
      replaces = now.checkout?.sessionId ?? null;
      await endOpen(deps, { ...wanted, payments, customerId, sessionId: replaces }, cause);
    }
    return { url };
  });

type Open = Wanted & { payments: PaymentProcessor; customerId: string; sessionId: string | null };

/** Nobody can finish it afterwards. Throws where somebody has, and has the subscription still, whether we have heard of that yet or not. */
async function endOpen(
  deps: Dependencies,
  { workspaceId, payments, customerId, sessionId }: Open,
  cause: Cause,
): Promise<void> {
  if (sessionId === null || (await payments.expireCheckout(sessionId)) !== "complete") return;
  const all = await payments.subscriptionsOf(customerId);
  if (all === "customer_deleted") throw customerMissing();
  if (!all.some(works)) return;
  await askForSubscriptions(deps, { workspaceId, because: "a checkout was finished" }, cause);
  throw subscribed();
}

/** Each run asks under a key of its own: a repetition must not be answered with a page that has been ended since. */
const detailsOf = ({
  settings: { publicUrl },
  ids,
}: Dependencies): Pick<CheckoutRequest, "requestKey" | "successUrl" | "cancelUrl"> => ({
  requestKey: ids.uuid(),
  successUrl: `${publicUrl}/billing?session_id={CHECKOUT_SESSION_ID}`,
  cancelUrl: `${publicUrl}/billing`,
});

const subscribed = (): Rejected =>
  new Rejected(
    "invalid_request",
    "this workspace has a subscription already: change its plan, interval or payment method in the portal (POST /v1/billing/portal)",
    { conflict: true },
  );

/** A process makes it, moments after the workspace. */
export const customerMissing = (): Rejected =>
  new Rejected(
    "stripe_customer_missing",
    "the payment processor has no customer for this workspace yet: retry shortly",
  );
