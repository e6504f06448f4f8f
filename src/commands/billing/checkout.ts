import type { CheckoutRequest, Interval, PaidPlan, PaymentProcessor } from "#src/payments/paymentProcessor.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { askProcessor } from "./asking.ts";
import type { BillingRecord } from "./billingRecord.ts";

const trialDays = 30;

export type Wanted = { workspaceId: string; plan: PaidPlan; interval: Interval };

/**
 * Opens a page of the payment processor's on which the workspace can start a subscription, and ends the one that was open before: of two opened
 * at once, only one can be finished. Throws Rejected stripe_customer_missing, invalid_request (409: subscribed already), stripe_error.
 */
export const startCheckout = (
  deps: Dependencies & { billing: BillingRecord },
  wanted: Wanted,
  cause: Cause,
): Promise<{ url: string }> =>
  askProcessor(deps, async (payments) => {
    const { workspaceId, plan, interval } = wanted;
    const standing = await deps.billing.standing(workspaceId);
    if (standing.isSubscribed) throw subscribed();
    const { customerId, trialUsed } = standing;
    if (customerId === null) throw customerMissing();
    await end(payments, standing.openCheckout);
    const request = { workspaceId, plan, interval, customerId, trialDays: trialUsed ? null : trialDays };
    const { sessionId, url, expiresAt } = await payments.checkout({ ...request, ...pagesOf(deps) });
    const checkout = { sessionId, plan, interval, expiresAt };
    let replaces = standing.openCheckout;
    // Nobody is told the page before it is on record. Where another request was faster, its page ends before this one is told.
    while (!(await deps.billing.openCheckout(workspaceId, { checkout, replaces }, cause))) {
      const { isSubscribed, openCheckout } = await deps.billing.standing(workspaceId);
      if (isSubscribed) throw subscribed();
      await end(payments, openCheckout);
      replaces = openCheckout;
    }
    return { url };
  });

/** Throws where somebody has finished it, whether we have heard of that yet or not. */
async function end(payments: PaymentProcessor, openCheckout: string | null): Promise<void> {
  if (openCheckout === null) return;
  if ((await payments.expireCheckout(openCheckout)) === "complete") throw subscribed();
}

/** Each run asks under a key of its own: a repetition must not be answered with a page that has been ended since. */
const pagesOf = ({
  settings,
  ids,
}: Dependencies): Pick<CheckoutRequest, "requestKey" | "successUrl" | "cancelUrl"> => ({
  requestKey: ids.uuid(),
  successUrl: `${settings.publicUrl}/billing?session_id={CHECKOUT_SESSION_ID}`,
  cancelUrl: `${settings.publicUrl}/billing`,
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
