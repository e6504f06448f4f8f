import type { CheckoutSession, Interval, PaidPlan } from "#src/payments/paymentProcessor.ts";
import type { Cause } from "../handle.ts";

/** What checkout and portal ask of a workspace's billing stream, and record there. */
export type BillingRecord = {
  standing(workspaceId: string): Promise<BillingStanding>;
  /** Records a checkout in place of `replaces`; false, and nothing is recorded, where another one is open by now. */
  openCheckout(
    workspaceId: string,
    opened: { checkout: OpenedCheckout; replaces: string | null },
    cause: Cause,
  ): Promise<boolean>;
  /** What a finished checkout brought, as far as it is on record. */
  broughtBy(session: CheckoutSession): Promise<Brought | undefined>;
};

export type BillingStanding = {
  /** null: not made yet. */
  customerId: string | null;
  /** A subscription goes on: a checkout would begin a second one. */
  isSubscribed: boolean;
  trialUsed: boolean;
  /** The id of the session that is open as far as we know. */
  openCheckout: string | null;
};

export type OpenedCheckout = { sessionId: string; plan: PaidPlan; interval: Interval; expiresAt: string };

/** A subscription as it is on record; "second": it was ended at once, because there was one already. Times are ISO. */
export type Brought =
  | "second"
  | {
      plan: PaidPlan;
      interval: Interval | null;
      /** The processor's word. */
      status: string;
      trialEndsAt: string | null;
      renewsAt: string | null;
    };
