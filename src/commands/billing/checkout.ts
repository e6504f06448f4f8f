import {
  type CheckoutRequest,
  type PaymentProcessor,
  ProcessorRefused,
} from "#src/platform/payments/paymentProcessor.ts";
import type { PaidPlan } from "#streams/billing/events.ts";
import { isActiveSubscription } from "#streams/billing/planFrom.ts";
import { Rejected } from "#streams/decider.ts";
import type { Interval } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { callProcessor } from "./callProcessor.ts";
import { loadPayer, recordCheckout, requestSubscriptionRead } from "./customers.ts";

const trialDays = 30;

export type CheckoutOrder = { workspaceId: string; plan: PaidPlan; interval: Interval };

/**
 * Opens a page of the payment processor on which the workspace can start a subscription, and expires the previous page, so that only one of
 * two concurrently opened pages can be completed. Throws Rejected stripe_customer_missing, invalid_request (409 if already subscribed),
 * stripe_error.
 */
export const startCheckout = (
  deps: Dependencies,
  wanted: CheckoutOrder,
  // A repeated request records a new page: it must not return the first run's page, which may have expired.
  { operation: _, repeated: __, ...cause }: Cause,
): Promise<{ url: string }> =>
  callProcessor(deps, async (payments) => {
    const { workspaceId, plan, interval } = wanted;
    const { trialUsed, ...payer } = await loadPayer(deps, workspaceId);
    if (payer.isSubscribed) throw subscribed();
    const { customerId } = payer;
    if (customerId === null) throw customerMissing();
    let replaces = payer.checkout?.sessionId ?? null;
    const before = await endOpen(deps, { ...wanted, payments, customerId, sessionId: replaces }, cause);
    const isTrial = !trialUsed && !before.hadTrial;
    const request = { workspaceId, plan, interval, customerId, trialDays: isTrial ? trialDays : null };
    const open = () => payments.checkout({ ...request, ...detailsOf(deps) });
    const { sessionId, url, expiresAt } = await callAboutCustomer(
      deps,
      { workspaceId, payments, customerId, ask: open },
      cause,
    );
    const checkout = { sessionId, plan, interval, expiresAt };
    // The page is recorded before it is returned. If another request recorded its page first, that page is expired and recording is tried
    // again.
    while (!(await recordCheckout(deps, { workspaceId, checkout, replaces }, cause))) {
      const now = await loadPayer(deps, workspaceId);
      if (now.isSubscribed) throw subscribed();
      replaces = now.checkout?.sessionId ?? null;
      await endOpen(deps, { ...wanted, payments, customerId, sessionId: replaces }, cause);
    }
    return { url };
  });

type CustomerCall<Answer> = {
  workspaceId: string;
  payments: Pick<PaymentProcessor, "subscriptionsOf">;
  customerId: string;
  ask: () => Promise<Answer>;
};

/**
 * Calls the processor about a customer. If the processor no longer knows the customer, requests the creation of a new one and throws
 * Rejected stripe_customer_missing.
 */
export async function callAboutCustomer<Answer>(
  deps: Dependencies,
  { workspaceId, payments, customerId, ask }: CustomerCall<Answer>,
  cause: Cause,
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ProcessorRefused) || error.code !== "resource_missing") throw error;
    // The processor returns the same error for an unknown price: if it still knows the customer, the price is the cause.
    if (Array.isArray(await payments.subscriptionsOf(customerId))) throw error;
    throw await customerGone(deps, workspaceId, cause);
  }
}

async function customerGone(deps: Dependencies, workspaceId: string, cause: Cause): Promise<Rejected> {
  await requestSubscriptionRead(deps, { workspaceId, because: "the customer is gone" }, cause);
  return customerMissing();
}

type OpenCheckout = CheckoutOrder & { payments: PaymentProcessor; customerId: string; sessionId: string | null };

/**
 * Expires an open checkout so that it cannot be completed. Throws if the checkout was completed and its subscription still exists, even if
 * the subscription is not recorded here yet. `hadTrial`: true if the checkout's subscription has ended and had a trial.
 */
async function endOpen(
  deps: Dependencies,
  { workspaceId, payments, customerId, sessionId }: OpenCheckout,
  cause: Cause,
): Promise<{ hadTrial: boolean }> {
  if (sessionId === null || (await payments.expireCheckout(sessionId)) !== "complete") return { hadTrial: false };
  const all = await payments.subscriptionsOf(customerId);
  if (!Array.isArray(all)) throw await customerGone(deps, workspaceId, cause);
  if (!all.some(isActiveSubscription)) return { hadTrial: all.some(({ trialEnd }) => trialEnd !== null) };
  await requestSubscriptionRead(deps, { workspaceId, because: "a checkout was finished" }, cause);
  throw subscribed();
}

/**
 * Returns the URLs and a new request key for a checkout. With the key of an earlier run the processor would return that run's page, which
 * may have expired.
 */
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
    "this workspace already has a subscription: change its plan, interval or payment method in the portal (POST /v1/billing/portal)",
    { conflict: true },
  );

/** Returns the error for a workspace without a customer. A process creates the customer within moments after the workspace. */
export const customerMissing = (): Rejected =>
  new Rejected(
    "stripe_customer_missing",
    "the payment processor has no customer for this workspace yet: retry shortly",
  );
