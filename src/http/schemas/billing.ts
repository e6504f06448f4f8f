import Type from "typebox";
import { At, Nullable, Strict, Timestamp } from "./common.ts";

export const Plan = Type.Enum(["builder_pack", "pro", "agency"]);
export const PlanStatus = Type.Enum(["trialing", "active", "past_due", "canceled"]);
const count = Type.Integer({ minimum: 0 });

export const SubscriptionQuery = Strict({ at: At });

/** A workspace's plan and its usage. */
export const Subscription = Strict(
  {
    plan: Plan,
    plan_status: PlanStatus,
    beta_override: Type.Boolean({ description: "True if plan limits are bypassed." }),
    trial_ends_at: Nullable(Timestamp),
    current_period_start: Nullable(Timestamp),
    current_period_end: Nullable(Timestamp),
    interval: Nullable(
      Type.Enum(["monthly", "annual"], {
        description: "How often the subscription is paid for; null without one. Quotas are per month either way.",
      }),
    ),
    renews_at: Nullable(
      Type.String({ format: "date-time", description: "When it is paid for next; null if it does not renew itself." }),
    ),
    emails_sent_this_period: Type.Integer({ minimum: 0, description: "On builder_pack a lifetime total." }),
    inbound_received_this_period: count,
    identity_count: count,
    rule_count: count,
    domain_count: count,
    limits: Strict({
      emails_per_period: count,
      inbound_per_period: count,
      max_identities: count,
      max_rules: count,
      max_domains: count,
    }),
  },
  { title: "Subscription" },
);

export const CreateCheckout = Strict(
  {
    plan: Type.String({ description: "`pro` or `agency`; anything else is invalid_plan." }),
    interval: Type.String({ description: "`monthly` or `annual`; anything else is invalid_interval." }),
  },
  { title: "CreateCheckout", examples: [{ plan: "pro", interval: "monthly" }] },
);

export const Checkout = Strict({ checkout_url: Type.String() }, { title: "Checkout" });
export const Portal = Strict({ portal_url: Type.String() }, { title: "Portal" });
