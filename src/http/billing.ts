import { countDomains } from "#projections/domains/queries.ts";
import { countIdentities } from "#projections/identities/queries.ts";
import { countRules } from "#projections/rules/queries.ts";
import { type PlanUsage, subscriptionAt } from "#src/commands/asOf/subscriptionAt.ts";
import { startCheckout } from "#src/commands/billing/checkout.ts";
import { openPortal } from "#src/commands/billing/portal.ts";
import type { PaidPlan } from "#streams/billing/events.ts";
import { Rejected } from "#streams/decider.ts";
import type { Interval } from "#streams/workspace/events.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { requireThen, timeAsked } from "./earlierStates.ts";
import { route } from "./framework/route.ts";
import { Checkout, CreateCheckout, Portal, Subscription, SubscriptionQuery } from "./schemas/billing.ts";
import { currentPlanAndUsage, presentPlan } from "./workspaces.ts";

export const billingRoutes = (deps: HttpDependencies) => [
  route(
    "GET /v1/billing/subscription",
    {
      scope: "read:billing",
      limit: "read",
      summary: "Read the plan, its limits and their usage",
      description:
        "The data comes only from the service's records. On builder_pack the counters are lifetime totals, and there is no period. With `at`: the plan and its usage then; `limits` are those that this installation gives that plan now.",
      query: SubscriptionQuery,
      answers: Subscription,
      errors: ["insufficient_scope", "not_found"],
    },
    async ({ workspaceId, query, principal }) => {
      const at = timeAsked(deps, query.at, principal);
      return presentSubscription(
        at
          ? requireThen(await subscriptionAt(deps, workspaceId, at), at)
          : await currentSubscription(deps, workspaceId),
      );
    },
  ),

  route(
    "POST /v1/billing/checkout",
    {
      scope: "write:billing",
      limit: "send",
      summary: "Start a checkout for another plan",
      description:
        "Open `checkout_url` in a browser. It begins with a trial of 30 days, once for each workspace; a card is required at the start. A new checkout replaces the previous one. Afterwards the browser returns to /billing with a session_id. If no payment processor is set up, this answers 502 stripe_error, and the operator sets the plan.",
      body: CreateCheckout,
      answers: Checkout,
      errors: ["invalid_plan", "invalid_interval", "stripe_customer_missing", "stripe_error"],
      conflict: "the workspace has a subscription: it is changed in the portal",
    },
    async ({ body, workspaceId, cause }) => {
      const plan = oneOf<PaidPlan>(["pro", "agency"], { field: "plan", value: body.plan, code: "invalid_plan" });
      const intervals = { field: "interval", value: body.interval, code: "invalid_interval" };
      const interval = oneOf<Interval>(["monthly", "annual"], intervals);
      const { url } = await startCheckout(deps, { workspaceId, plan, interval }, cause);
      return { checkout_url: url };
    },
  ),

  route(
    "POST /v1/billing/portal",
    {
      scope: "write:billing",
      limit: "send",
      summary: "Open the page for payment method, plan and invoices",
      description: "Open `portal_url` in a browser. If no payment processor is set up, this answers 502 stripe_error.",
      answers: Portal,
      errors: ["stripe_customer_missing", "stripe_error"],
    },
    async ({ workspaceId, cause }) => ({ portal_url: (await openPortal(deps, workspaceId, cause)).url }),
  ),
];

async function currentSubscription(deps: HttpDependencies, workspaceId: string): Promise<PlanUsage> {
  const [usage, identities, rules, domains] = await Promise.all([
    currentPlanAndUsage(deps, workspaceId),
    countIdentities(deps.reads, workspaceId),
    countRules(deps.reads, workspaceId),
    countDomains(deps.reads, workspaceId),
  ]);
  return { ...usage, identities, rules, domains };
}

function presentSubscription(usage: PlanUsage) {
  const { limits, interval, renewsAt } = usage.plan;
  return {
    ...presentPlan(usage),
    interval,
    renews_at: renewsAt,
    identity_count: usage.identities,
    rule_count: usage.rules,
    domain_count: usage.domains,
    limits: {
      emails_per_period: limits.emailsPerPeriod,
      inbound_per_period: limits.inboundPerPeriod,
      max_identities: limits.identities,
      max_rules: limits.rules,
      max_domains: limits.domains,
    },
  };
}

function oneOf<Word extends string>(
  allowed: readonly Word[],
  { field, value, code }: { field: string; value: string; code: string },
): Word {
  const word = allowed.find((each) => each === value);
  if (word !== undefined) return word;
  throw new Rejected(code, `${field}: expected ${allowed.join(" or ")}`, { field });
}
