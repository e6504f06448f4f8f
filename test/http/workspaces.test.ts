import { expect } from "chai";
import { periodBounds, periodOf, quotaStreamOf, releaseQuota, reserveQuota } from "#src/commands/quotas.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { type Nouns, operator, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("http workspaces/me", () => {
  let service: Nouns;
  let tenant: Tenant;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace();
  });
  after(() => service.close());

  const patch = (json: unknown, ask = tenant.ask) => ask("PATCH /v1/workspaces/me", { json });

  it("is the key's workspace, in the contract's fields", async () => {
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

  it("is renamed, paused and resumed; what is not given stays [4 PATCH /v1/workspaces/me]", async () => {
    expect((await patch({ name: "Acme" })).json).to.include({ name: "Acme", sending_paused: false });
    expect((await patch({ sending_paused: true })).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({ name: null })).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({})).json).to.include({ name: "Acme", sending_paused: true });
    expect((await patch({ name: "B", sending_paused: false })).json).to.include({ name: "B", sending_paused: false });
    expect((await tenant.ask("GET /v1/workspaces/me")).json).to.include({ name: "B", sending_paused: false });
  });

  it("keeps its slug and never touches another workspace", async () => {
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
    it(`refuses ${what}`, async () => {
      const { status, json } = await patch(body);
      expect([status, json.error]).to.deep.equal([422, "invalid_request"]);
      expect(json.message).to.contain(field);
    });
  }

  it("needs its scopes", async () => {
    const reader = await service.workspace({ scopes: ["read:workspace"] });
    expect((await reader.ask("GET /v1/workspaces/me")).status).to.equal(200);
    const refused = await patch({ name: "x" }, reader.ask);
    expect([refused.status, refused.json.error]).to.deep.equal([401, "insufficient_scope"]);
  });

  it("counts what was sent in its period", async () => {
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
    const settings = { ...service.deps.settings, outboundCaps: { builder_pack: 2, pro: 2, agency: 2 } };
    const deps = { ...service.deps, settings };
    for (const reservation of reservations) await reserveQuota(deps, workspaceId, reservation, operator);
    expect(await sent()).to.include({ emails_sent_this_period: 2 });
    await releaseQuota(deps, reservations[0]!, operator);
    expect(await sent()).to.include({ emails_sent_this_period: 1 });
    const { position } = await setPlan(deps, { workspaceId, plan: "pro" }, operator);
    await deps.projected(position);
    expect(await sent()).to.include({ plan: "pro", emails_sent_this_period: 0 });
  });

  it("counts inbound mail that was stored for an agent, in its period", async () => {
    const { workspaceId, ask } = await service.workspace();
    const row = (id: number, disposition: string, receivedAt: string) => [
      `0193a0aa-0000-7000-8000-${String(id).padStart(12, "0")}`,
      workspaceId,
      receivedAt,
      disposition,
    ];
    const now = new Date().toISOString();
    for (const values of [
      row(1, "threaded", now),
      row(2, "quarantined", now),
      row(3, "duplicate", now),
      row(4, "held_over_quota", now),
      row(5, "threaded", "2020-01-01T00:00:00Z"),
    ]) {
      await service.database.query(
        `insert into inbound (id, workspace_id, identity_id, received_at, position, inbox_revision, envelope_from, envelope_to,
           disposition, rfc_message_id, raw_sha256, size_bytes) values ($1, $2, $1, $3, 1, 0, '', '', $4, '', '', 0)`,
        values,
      );
    }
    expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(2);
    const { position } = await setPlan(service.deps, { workspaceId, plan: "builder_pack" }, operator);
    await service.deps.projected(position);
    expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(3);
  });
});

describe("periods", () => {
  const bounds = (createdAt: string, now: string) => {
    const period = periodBounds({ plan: "pro", createdAt }, new Date(now))!;
    return [period.start.toISOString(), period.end.toISOString()];
  };

  it("are months from the creation, at its time of day; the last day stands in for one a month does not have", () => {
    const created = "2026-01-31T12:00:00.000Z";
    expect(bounds(created, "2026-01-31T12:00:00.000Z")).to.deep.equal([created, "2026-02-28T12:00:00.000Z"]);
    expect(bounds(created, "2026-02-28T11:59:59.999Z")).to.deep.equal([created, "2026-02-28T12:00:00.000Z"]);
    expect(bounds(created, "2026-02-28T12:00:00.000Z")).to.deep.equal([
      "2026-02-28T12:00:00.000Z",
      "2026-03-31T12:00:00.000Z",
    ]);
    expect(bounds(created, "2027-01-01T00:00:00.000Z")).to.deep.equal([
      "2026-12-31T12:00:00.000Z",
      "2027-01-31T12:00:00.000Z",
    ]);
  });

  it("follow each other without a gap, each under its own number", () => {
    const workspace = { plan: "pro", createdAt: "2024-02-29T23:30:00.000Z" } as const;
    let now = new Date(workspace.createdAt);
    for (let month = 0; month < 60; month++) {
      const { start, end } = periodBounds(workspace, now)!;
      expect(start.getTime()).to.equal(now.getTime());
      expect(periodOf(workspace, now)).to.equal(`month${month}`);
      expect(periodOf(workspace, new Date(end.getTime() - 1))).to.equal(`month${month}`);
      now = end;
    }
  });
});
