import { expect } from "chai";
import { countInbound, quotaStreamOf, releaseQuota, reserveQuota } from "#src/commands/plans/quotas.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { type Nouns, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("workspaces/me over HTTP", () => {
  let service: Nouns;
  let tenant: Tenant;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace();
  });
  after(() => service.close());

  const patch = (json: unknown, ask = tenant.ask) => ask("PATCH /v1/workspaces/me", { json });

  it("workspaces/me is the key's workspace, with the contract's fields", async () => {
    const { status, json } = await tenant.ask("GET /v1/workspaces/me");
    expect(status).to.equal(200);
    expect(json).to.have.keys(
      "id",
      "name",
      "slug",
      "plan",
      "plan_status",
      "beta_override",
      "sending_paused",
      "sending_paused_reason",
      "sending_paused_by",
      "sending_paused_at",
      "require_human_approval",
      "require_named_approvers",
      "emails_sent_this_period",
      "inbound_received_this_period",
      "trial_ends_at",
      "current_period_start",
      "current_period_end",
      "created_at",
      "updated_at",
    );
    expect(json).to.include({ id: tenant.workspaceId, plan: "agency", plan_status: "active", trial_ends_at: null });
    expect(json.current_period_start).to.equal(json.created_at);
    expect(Date.parse(json.current_period_end)).to.be.greaterThan(Date.now());
  });

  it("a workspace is renamed, paused and resumed; the fields that are not given stay [4 PATCH /v1/workspaces/me]", async () => {
    expect((await patch({ name: "Acme" })).json).to.include({ name: "Acme", sending_paused: false });
    expect((await patch({ sending_paused: true })).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({ name: null })).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({})).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({ name: "B", sending_paused: false })).json).to.include({ name: "B", sending_paused: false });
    expect((await tenant.ask("GET /v1/workspaces/me")).json).to.include({ name: "B", sending_paused: false });
  });

  it("a renamed workspace keeps its slug, and no other workspace changes", async () => {
    const other = await service.workspace();
    const before = (await other.ask("GET /v1/workspaces/me")).json;
    const { json } = await patch({ name: "Renamed" });
    expect(json.slug).to.match(/^test-[0-9a-f]{6}$/);
    expect((await other.ask("GET /v1/workspaces/me")).json).to.deep.equal(before);
  });

  for (const [what, body, field] of [
    ["an empty name", { name: "" }, "name"],
    ["a number for a name", { name: 1 }, "name"],
    ["a name of 256 bytes", { name: "ä".repeat(128) }, "name"],
    ["a string for a switch", { sending_paused: "yes" }, "sending_paused"],
    ["its plan", { plan: "agency" }, "plan"],
    ["its override", { beta_override: true }, "beta_override"],
  ] as const) {
    it(`a change of a workspace with ${what} is refused`, async () => {
      const { outcome, json } = await patch(body);
      expect(outcome).to.equal("422 invalid_request");
      expect(json.message).to.contain(field);
    });
  }

  it("renaming a workspace needs write:workspace", async () => {
    const reader = await service.workspace({ scopes: ["read:workspace"] });
    expect((await reader.ask("GET /v1/workspaces/me")).status).to.equal(200);
    const refused = await patch({ name: "x" }, reader.ask);
    expect(refused.outcome).to.equal("401 insufficient_scope");
  });

  it("a workspace counts the mails sent in its period", async () => {
    const { workspaceId, ask } = await service.workspace({ plan: "builder_pack" });
    const sent = async () => (await ask("GET /v1/workspaces/me")).json;
    expect(await sent()).to.include({
      emails_sent_this_period: 0,
      current_period_start: null,
      current_period_end: null,
    });
    const reservations = await Promise.all(
      ["one", "two"].map(async (reservationId) => ({
        quotaStream: await quotaStreamOf(service.deps, workspaceId),
        reservationId,
      })),
    );
    const { deps } = service;
    for (const reservation of reservations) await reserveQuota(deps, { workspaceId, ...reservation }, operator());
    expect(await sent()).to.include({ emails_sent_this_period: 2 });
    await releaseQuota(deps, reservations[0]!, operator());
    expect(await sent()).to.include({ emails_sent_this_period: 1 });
    const { position } = await setPlan(deps, { workspaceId, plan: "pro" }, operator());
    await until(() => deps.projected(position));
    expect(await sent()).to.include({ plan: "pro", emails_sent_this_period: 0 });
  });

  it("a workspace counts each inbound mail of its period once", async () => {
    const { workspaceId, ask } = await service.workspace();
    const { deps } = service;
    const received = async () => (await ask("GET /v1/workspaces/me")).json.inbound_received_this_period;
    await countInbound(deps, { workspaceId, deliveryIds: ["one", "two"] }, operator());
    await countInbound(deps, { workspaceId, deliveryIds: ["two"] }, operator());
    expect(await received()).to.equal(2);
    await setPlan(deps, { workspaceId, plan: "pro", ...period("2026-01-02", "2026-02-02") }, operator());
    expect(await received()).to.equal(0);
    await countInbound(deps, { workspaceId, deliveryIds: ["three"] }, operator());
    expect(await received()).to.equal(1);
  });

  it("a workspace shows its trial and period as the payment processor has them [2 Workspace]", async () => {
    const { workspaceId, ask } = await service.workspace({ plan: "builder_pack" });
    const times = { ...period("2026-01-02", "2026-02-02"), trialEndsAt: "2026-02-01T00:00:00.000Z" };
    const set = { workspaceId, plan: "pro", planStatus: "trialing", ...times } as const;
    const { position } = await setPlan(service.deps, set, operator());
    await until(() => service.deps.projected(position));
    const { json } = await ask("GET /v1/workspaces/me");
    expect(json).to.include({
      plan: "pro",
      plan_status: "trialing",
      trial_ends_at: times.trialEndsAt,
      current_period_start: times.currentPeriodStart,
      current_period_end: times.currentPeriodEnd,
    });
  });

  it("[8 builder_pack] a canceled plan whose paid period is over counts all mail ever sent [8 builder pack counters never reset] [d10 canceled]", async () => {
    const { workspaceId, ask } = await service.workspace({ plan: "pro" });
    const { deps } = service;
    const reserve = async (id: string) => {
      const quotaStream = await quotaStreamOf(deps, workspaceId);
      await reserveQuota(deps, { workspaceId, quotaStream, reservationId: id }, operator());
    };
    for (let n = 0; n < 40; n++) await reserve(`calendar ${n}`);
    await setPlan(deps, { workspaceId, ...period("2026-01-02", "2026-02-02") }, operator());
    for (let n = 0; n < 9; n++) await reserve(`period ${n}`);
    const { position } = await setPlan(deps, { workspaceId, planStatus: "canceled" }, operator());
    await until(() => deps.projected(position));
    expect((await ask("GET /v1/workspaces/me")).json).to.include({
      plan: "builder_pack",
      plan_status: "canceled",
      emails_sent_this_period: 49,
      current_period_start: null,
      current_period_end: null,
    });
    await reserve("the last one");
    const refused = await reserve("one too many").catch((error: Error) => error);
    expect(refused).to.have.property("code", "plan_limit_reached");
  });
});

const period = (start: string, end: string) => ({
  currentPeriodStart: `${start}T00:00:00.000Z`,
  currentPeriodEnd: `${end}T00:00:00.000Z`,
});
