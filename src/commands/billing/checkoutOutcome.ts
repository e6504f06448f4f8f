import {
  type CheckoutSession,
  ProcessorRefused,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Subscription } from "#streams/billing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { askForSubscriptions, workspaceOfCustomer } from "./customers.ts";

/** What the holder of a checkout's id is told. */
export type CheckoutOutcome =
  | { kind: "unknown" }
  /** Nobody has finished it, and somebody still can. */
  | { kind: "open" }
  | { kind: "expired" }
  /** Finished, as far as we know; what it brought is not on record yet. */
  | { kind: "being_confirmed" }
  /** What it brought, as it is now. */
  | {
      kind: "subscription";
      subscription: Pick<Subscription, "plan" | "interval" | "status" | "trialEnd" | "cancelAt" | "periodEnd">;
    }
  /** There was one already: this one was ended at once. */
  | { kind: "second" }
  /** What it brought is over. */
  | { kind: "ended" };

/** Drawn by the payment processor, and long enough that nobody guesses one. */
const isSessionId = (text: string): boolean => /^cs_[A-Za-z0-9_-]{16,200}$/.test(text);

/** What came of a checkout. Its id is the right: anyone who has it was sent here by the payment processor. */
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
    // A refusal here is one of the whole account's: the operator's log has it from others' requests.
    if (error instanceof ProcessorUnavailable || error instanceof ProcessorRefused) return { kind: "being_confirmed" };
    throw error;
  }
}

type Finished = CheckoutSession & { sessionId: string; workspaceId: string };

async function broughtBy(
  deps: Dependencies,
  { sessionId, subscriptionId, workspaceId }: Finished,
  cause: Cause,
): Promise<CheckoutOutcome> {
  const { state: billing } = await deps.billings.load(workspaceId);
  if (subscriptionId !== null && Object.hasOwn(billing.seconds, subscriptionId)) return { kind: "second" };
  const subscription = billing.subscriptions.find(({ id }) => id === subscriptionId);
  if (subscription) return { kind: "subscription", subscription };
  // Those that are over do not stay on record; the next checkout is opened only when they are.
  if (billing.checkout?.sessionId !== sessionId || isLongAgo(billing.checkout, deps.clock.now()))
    return { kind: "ended" };
  // The processor's news may be late, or lost.
  await askForSubscriptions(deps, { workspaceId, because: "a checkout was finished" }, cause);
  return { kind: "being_confirmed" };
}

/** By then it was read, however long the processor was away. */
const isLongAgo = ({ expiresAt }: { expiresAt: string }, now: Date): boolean =>
  now.getTime() > Date.parse(expiresAt) + 7 * 24 * 3_600_000;
