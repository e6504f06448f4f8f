import {
  type CheckoutSession,
  ProcessorRefused,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Subscription } from "#streams/billing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { requestSubscriptionRead, workspaceOfCustomer } from "./customers.ts";

/** State of a checkout as shown to the holder of its id. */
export type CheckoutOutcome =
  | { kind: "unknown" }
  /** Not completed, but still can be. */
  | { kind: "open" }
  | { kind: "expired" }
  /** Completed as far as known; its subscription is not recorded yet. */
  | { kind: "being_confirmed" }
  /** The checkout's subscription in its present state. */
  | {
      kind: "subscription";
      subscription: Pick<Subscription, "plan" | "interval" | "status" | "trialEnd" | "cancelAt" | "periodEnd">;
    }
  /** The workspace had a subscription already: this one was ended at once. */
  | { kind: "second" }
  /** The checkout's subscription has ended. */
  | { kind: "ended" };

/** Returns true if the text looks like a checkout id of the payment processor, which is too long to guess. */
const isSessionId = (text: string): boolean => /^cs_[A-Za-z0-9_-]{16,200}$/.test(text);

/**
 * Returns the state of a checkout. Its id is the permission, because the payment processor gives the id only to the buyer, in the URL that
 * leads back here.
 */
export async function checkoutOutcome(
  deps: Dependencies,
  sessionId: string,
  cause: Omit<Cause, "workspaceId">,
): Promise<CheckoutOutcome> {
  const { payments } = deps;
  if (payments === null || !isSessionId(sessionId)) return { kind: "unknown" };
  try {
    const session = await payments.checkoutSession(sessionId);
    const workspaceId = session ? await workspaceOfCustomer(deps, session.customerId) : null;
    if (session === undefined || workspaceId === null) return { kind: "unknown" };
    if (session.status !== "complete") return { kind: session.status };
    return await broughtBy(deps, { ...session, sessionId, workspaceId }, { ...cause, workspaceId });
  } catch (error) {
    // A refusal by the processor concerns the whole account. The operator's log already has it from other requests.
    if (error instanceof ProcessorUnavailable || error instanceof ProcessorRefused) return { kind: "being_confirmed" };
    throw error;
  }
}

type FinishedCheckout = CheckoutSession & { sessionId: string; workspaceId: string };

async function broughtBy(
  deps: Dependencies,
  { sessionId, subscriptionId, workspaceId }: FinishedCheckout,
  cause: Cause,
): Promise<CheckoutOutcome> {
  const { state: billing } = await deps.billings.load(workspaceId);
  if (subscriptionId !== null && Object.hasOwn(billing.seconds, subscriptionId)) return { kind: "second" };
  const subscription = billing.subscriptions.find(({ id }) => id === subscriptionId);
  if (subscription) return { kind: "subscription", subscription };
  // Ended subscriptions are not stored. If a later checkout was opened, this one's subscription has ended, because only then another
  // checkout can be opened.
  if (billing.checkout?.sessionId !== sessionId || isLongAgo(billing.checkout, deps.clock.now()))
    return { kind: "ended" };
  // The processor's event may be late or lost, so read the subscriptions again.
  await requestSubscriptionRead(deps, { workspaceId, because: "a checkout was finished" }, cause);
  return { kind: "being_confirmed" };
}

/** Returns true if the checkout expired so long ago that its result was certainly read, even after a long outage of the processor. */
const isLongAgo = ({ expiresAt }: { expiresAt: string }, now: Date): boolean =>
  now.getTime() > Date.parse(expiresAt) + 7 * 24 * 3_600_000;
