import { ProcessorUnavailable } from "#src/payments/paymentProcessor.ts";
import type { Dependencies } from "../dependencies.ts";
import type { BillingRecord, Brought } from "./billingRecord.ts";

/** What the holder of a checkout's id is told. */
export type CheckoutOutcome =
  | { kind: "unknown" }
  /** Nobody has finished it, and somebody still can. */
  | { kind: "open" }
  | { kind: "expired" }
  /** Finished, as far as we know; what it brought is not on record yet. */
  | { kind: "being_confirmed" }
  | { kind: "brought"; subscription: Brought };

/** Drawn by the payment processor, and long enough that nobody guesses one. */
const isSessionId = (text: string): boolean => /^cs_[A-Za-z0-9_]{16,200}$/.test(text);

/** What came of a checkout. Its id is the right: whoever has it was sent here by the payment processor. */
export async function checkoutOutcome(
  { payments, billing }: Pick<Dependencies, "payments"> & { billing: BillingRecord },
  sessionId: string,
): Promise<CheckoutOutcome> {
  if (payments === null || !isSessionId(sessionId)) return { kind: "unknown" };
  try {
    const session = await payments.checkoutSession(sessionId);
    if (session === undefined) return { kind: "unknown" };
    if (session.status !== "complete") return { kind: session.status };
    const subscription = await billing.broughtBy(session);
    return subscription === undefined ? { kind: "being_confirmed" } : { kind: "brought", subscription };
  } catch (error) {
    if (error instanceof ProcessorUnavailable) return { kind: "being_confirmed" };
    throw error;
  }
}
