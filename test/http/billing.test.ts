import { expect } from "chai";
import { setPlan } from "#src/commands/workspaces.ts";
import { billingRoutes } from "#src/http/billing.ts";
import type { HttpDependencies } from "#src/http/dependencies.ts";
import { operator } from "#test/support/cause.ts";
import { type Nouns, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("billing over HTTP", () => {
  let service: Nouns;
  before(async () => {
    service = await serveNouns({
      more: (deps) => billingRoutes(deps as HttpDependencies),
    });
  });
  after(() => service.close());

  const subscription = async ({ ask }: Tenant) => {
    const { status, json } = await ask("GET /v1/billing/subscription");
    expect(status).to.equal(200);
    return json;
  };

  for (const [plan, out, inbound, identities, rules, domains] of [
    ["builder_pack", 50, 50, 1, 0, 1],
    ["pro", 5_000, 10_000, 10, 25, 3],
    ["agency", 15_000, 30_000, 50, 100, 10],
  ] as const) {
    it(`a subscription of plan ${plan} shows its limits and what is used [4 GET /v1/billing/subscription] [2 Subscription] [8 ${plan}]`, async () => {
      const tenant = await service.workspace({ plan });
      const lifetime = plan === "builder_pack";
      const json = await subscription(tenant);
      const { current_period_start: start, current_period_end: end, ...rest } = json;
      expect([start === null, end === null]).to.deep.equal([lifetime, lifetime]);
      expect(rest).to.deep.equal({
        plan,
        plan_status: "active",
        beta_override: false,
        trial_ends_at: null,
        interval: null,
        renews_at: null,
        emails_sent_this_period: 0,
        inbound_received_this_period: 0,
        identity_count: 0,
        rule_count: 0,
        domain_count: 0,
        limits: {
          emails_per_period: out,
          inbound_per_period: inbound,
          max_identities: identities,
          max_rules: rules,
          max_domains: domains,
        },
      });
    });
  }

  it("a subscription counts identities when they are created and deleted", async () => {
    const tenant = await service.workspace();
    const { json: domains } = await tenant.ask("GET /v1/domains");
    const body = { domain_id: domains.data[0].id, local_part: "counted", display_name: "Counted" };
    const { json: identity } = await tenant.ask("POST /v1/identities", { json: body });
    expect((await subscription(tenant)).identity_count).to.equal(1);
    await tenant.ask(`DELETE /v1/identities/${identity.id}`);
    expect((await subscription(tenant)).identity_count).to.equal(0);
  });

  it("a subscription shows its trial; a canceled plan becomes builder_pack once its paid period is over [3 plan_status]", async () => {
    const tenant = await service.workspace({ plan: "pro" });
    const { workspaceId } = tenant;
    const times = {
      trialEndsAt: "2999-01-31T00:00:00.000Z",
      // A month that has begun and not ended.
      currentPeriodStart: new Date(Date.now() - 86_400_000).toISOString(),
      currentPeriodEnd: new Date(Date.now() + 20 * 86_400_000).toISOString(),
    };
    await setPlan(service.deps, { workspaceId, planStatus: "trialing", ...times }, operator());
    expect(await subscription(tenant)).to.include({
      plan: "pro",
      plan_status: "trialing",
      trial_ends_at: times.trialEndsAt,
      current_period_start: times.currentPeriodStart,
    });
    await setPlan(service.deps, { workspaceId, planStatus: "canceled" }, operator());
    expect(await subscription(tenant)).to.include({ plan: "pro", plan_status: "canceled" });
    const over = { currentPeriodEnd: "2026-01-02T00:00:00.000Z" };
    await setPlan(service.deps, { workspaceId, ...over }, operator());
    const json = await subscription(tenant);
    expect(json).to.include({ plan: "builder_pack", plan_status: "canceled", current_period_end: null });
    expect(json.limits.emails_per_period).to.equal(50);
  });

  it("a yearly subscription shows the current month as its period, and when it renews [d10 periods]", async () => {
    const tenant = await service.workspace({ plan: "builder_pack" });
    const day = 86_400_000;
    const at = (days: number) => new Date(Math.floor(Date.now() / day) * day + days * day).toISOString();
    const [start, end] = [at(-100), at(265)];
    const subscribed = {
      ...({ plan: "agency", planStatus: "active", interval: "annual", trialEndsAt: null, renewsAt: end } as const),
      ...{ currentPeriodStart: start, currentPeriodEnd: end },
    };
    const { workspaceId } = tenant;
    await service.deps.workspaces.handle(workspaceId, { type: "FollowSubscription", subscribed }, operator());
    const json = await subscription(tenant);
    expect(json).to.include({ plan: "agency", interval: "annual", renews_at: end });
    const [from, until] = [Date.parse(json.current_period_start), Date.parse(json.current_period_end)];
    expect(until - from).to.be.within(28 * day, 31 * day);
    expect([from <= Date.now(), Date.now() < until]).to.deep.equal([true, true]);
    const canceled = { ...subscribed, planStatus: "canceled" } as const;
    await service.deps.workspaces.handle(workspaceId, { type: "FollowSubscription", subscribed: canceled }, operator());
    expect(await subscription(tenant)).to.include({ plan: "agency", plan_status: "canceled", renews_at: null });
  });

  const valid = { plan: "pro", interval: "monthly" };
  for (const [what, body, code, field] of [
    ["the free plan", { ...valid, plan: "builder_pack" }, "invalid_plan", "plan"],
    ["another case", { ...valid, plan: "Pro" }, "invalid_plan", "plan"],
    ["an empty plan", { ...valid, plan: "" }, "invalid_plan", "plan"],
    ["an unknown interval", { ...valid, interval: "weekly" }, "invalid_interval", "interval"],
    ["a plan that is no string", { ...valid, plan: 1 }, "invalid_request", "plan"],
    ["no interval", { plan: "pro" }, "invalid_request", "interval"],
    ["an unknown field", { ...valid, coupon: "x" }, "invalid_request", "coupon"],
  ] as const) {
    it(`a checkout with ${what} is refused [7 422 invalid_plan] [7 422 invalid_interval]`, async () => {
      const { ask } = await service.workspace();
      const { status, json } = await ask("POST /v1/billing/checkout", { json: body });
      expect([status, json.error]).to.deep.equal([422, code]);
      expect(json.message).to.match(new RegExp(`^${field}\\b`));
    });
  }

  it("a checkout without a payment processor is answered 502 stripe_error [4 POST /v1/billing/checkout] [7 502 stripe_error]", async () => {
    const { ask } = await service.workspace();
    for (const interval of ["monthly", "annual"]) {
      for (const plan of ["pro", "agency"]) {
        const { outcome, json } = await ask("POST /v1/billing/checkout", { json: { plan, interval } });
        expect(outcome).to.equal("502 stripe_error");
        expect(json.message).to.contain("not connected to a payment processor");
      }
    }
  });

  it("the portal without a payment processor is answered 502 stripe_error [4 POST /v1/billing/portal]", async () => {
    const { ask } = await service.workspace();
    const { outcome } = await ask("POST /v1/billing/portal");
    expect(outcome).to.equal("502 stripe_error");
  });

  it("billing needs its scopes: a reader can start neither a checkout nor the portal", async () => {
    const reader = await service.workspace({ scopes: ["read:billing"] });
    expect((await reader.ask("GET /v1/billing/subscription")).status).to.equal(200);
    for (const line of ["POST /v1/billing/checkout", "POST /v1/billing/portal"]) {
      const { outcome } = await reader.ask(line, { json: line.endsWith("portal") ? {} : valid });
      expect(outcome, line).to.equal("401 insufficient_scope");
    }
  });
});
