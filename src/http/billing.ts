import { countDomains } from "#projections/domains/queries.ts";
import { countIdentities } from "#projections/identities/queries.ts";
import { countRules } from "#projections/rules/queries.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./framework/dependencies.ts";
import { type Route, route } from "./framework/route.ts";
import { Checkout, CreateCheckout, Portal, Subscription } from "./schemas/billing.ts";
import { planAndUsage } from "./workspaces.ts";

export const billingRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "GET /v1/billing/subscription",
    {
      scope: "read:billing",
      limit: "read",
      summary: "Read the plan, its limits and their usage",
      description:
        "The data comes from the service's own records only. On builder_pack the counters are lifetime totals, and there is no period.",
      answers: Subscription,
    },
    ({ workspaceId }) => shownSubscription(deps, workspaceId),
  ),

  route(
    "POST /v1/billing/checkout",
    {
      scope: "write:billing",
      limit: "send",
      summary: "Start a checkout for another plan",
      description: "If no payment processor is set up, this answers 502 stripe_error, and the operator sets the plan.",
      body: CreateCheckout,
      answers: Checkout,
      errors: ["invalid_plan", "invalid_interval", "stripe_error"],
    },
    async ({ body }) => {
      requireOneOf(["pro", "agency"], { field: "plan", value: body.plan, code: "invalid_plan" });
      requireOneOf(["monthly", "annual"], { field: "interval", value: body.interval, code: "invalid_interval" });
      throw notConnected();
    },
  ),

  route(
    "POST /v1/billing/portal",
    {
      scope: "write:billing",
      limit: "send",
      summary: "Open the page for payment method, plan and invoices",
      description: "If no payment processor is set up, this answers 502 stripe_error.",
      answers: Portal,
      errors: ["stripe_error"],
    },
    async () => {
      throw notConnected();
    },
  ),
];

async function shownSubscription(deps: HttpDependencies, workspaceId: string) {
  const [{ limits, interval, renewsAt }, usage, identities, rules, domains] = await Promise.all([
    currentPlan(deps, workspaceId),
    planAndUsage(deps, workspaceId),
    countIdentities(deps.reads, workspaceId),
    countRules(deps.reads, workspaceId),
    countDomains(deps.reads, workspaceId),
  ]);
  return {
    ...usage,
    interval,
    renews_at: renewsAt,
    identity_count: identities,
    rule_count: rules,
    domain_count: domains,
    limits: {
      emails_per_period: limits.emailsPerPeriod,
      inbound_per_period: limits.inboundPerPeriod,
      max_identities: limits.identities,
      max_rules: limits.rules,
      max_domains: limits.domains,
    },
  };
}

function requireOneOf(
  allowed: readonly string[],
  { field, value, code }: { field: string; value: string; code: string },
): void {
  if (allowed.includes(value)) return;
  throw new Rejected(code, `${field}: expected ${allowed.join(" or ")}`, { field });
}

/** This version makes no calls to a payment processor, whatever the settings. */
const notConnected = (): Rejected =>
  new Rejected(
    "stripe_error",
    "this service is not connected to a payment processor: ask its operator to change the plan",
  );
