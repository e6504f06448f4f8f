import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { openTenantOn } from "#test/support/story/plan.ts";

describe("plan limits over HTTP", () => {
  let service: InProcess;
  before(async () => {
    service = await startInProcess();
    const small = { ...planLimits.builder_pack, emailsPerPeriod: 3 };
    service.deps.settings.planLimits = { ...planLimits, builder_pack: small };
  });
  after(() => service.stop());

  /** The workspace is years old: a lifetime quota is never reset. */
  const oldTenant = () => openTenantOn(service, { plan: "builder_pack", createdAt: "2024-01-31T00:00:00.000Z" });

  it("of 10 parallel sends as many succeed as the plan has left; the others can be sent under another plan [7 402 plan_limit_reached] [8 402 upgrade_url] [8 builder pack counters never reset]", async () => {
    const tenant = await oldTenant();
    const mail = await tenant.mail();
    const drafts = await Promise.all(Array.from({ length: 10 }, () => tenant.draft(mail)));
    const answers = await Promise.all(drafts.map((draft) => draft.ask("POST send")));
    const refused = answers.filter(({ status }) => status === 402);
    expect([answers.filter(({ status }) => status === 202).length, refused.length]).to.deep.equal([3, 7]);
    for (const { json, headers } of refused) {
      expect(json.error).to.equal("plan_limit_reached");
      expect(json.upgrade_url).to.equal("http://localhost:8080/billing");
      expect(headers.get("plan-status")).to.equal("active");
    }
    await tenant.changePlan({ planStatus: "past_due" });
    const due = await drafts[answers.indexOf(refused[0]!)]!.ask("POST send");
    expect([due.status, due.headers.get("plan-status")]).to.deep.equal([402, "past_due"]);
    await tenant.changePlan({ planStatus: "active" });
    expect(await tenant.usage()).to.include({ emails_sent_this_period: 3, current_period_start: null });

    await tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { auto_approve_replies: true } });
    const total = async () => (await tenant.ask("GET /v1/drafts?limit=100")).json.total;
    const before = await total();
    expect((await tenant.submit(mail)).outcome).to.equal("402 plan_limit_reached");
    expect(await total()).to.equal(before);

    await tenant.changePlan({ plan: "pro" });
    expect((await tenant.usage()).emails_sent_this_period).to.equal(0);
    const [waiting] = (await tenant.ask("GET /v1/drafts?status=pending")).json.data;
    await (await tenant.draftWithId(waiting.id)).sendNow();
    expect((await tenant.usage()).emails_sent_this_period).to.equal(1);
  });

  it("beta_override lifts the plan's limits, which are in force again without it [8 beta_override]", async () => {
    const tenant = await oldTenant();
    const mail = await tenant.mail();
    await tenant.changePlan({ betaOverride: true });
    const send = async () => (await (await tenant.draft(mail)).ask("POST send")).status;
    for (let n = 0; n < 4; n++) expect(await send()).to.equal(202);
    const [sandbox] = (await tenant.ask("GET /v1/domains")).json.data;
    const identity = (name: string) =>
      tenant.ask("POST /v1/identities", {
        json: { domain_id: sandbox.id, local_part: `${name}-${randomUUID().slice(0, 8)}`, display_name: name },
      });
    expect((await identity("second")).status).to.equal(201);
    expect((await tenant.ask("GET /v1/billing/subscription")).json).to.include({
      ...{ beta_override: true, emails_sent_this_period: 4, identity_count: 2 },
    });
    await tenant.changePlan({ betaOverride: false });
    expect(await send()).to.equal(402);
    const third = await identity("third");
    expect(third.outcome).to.equal("402 plan_limit_reached");
    expect(third.json.message).to.equal(
      "your plan allows 1 identity, which already exists: delete it, or upgrade the plan",
    );
    const rule = await tenant.ask("POST /v1/rules", { json: { name: "none", trigger_event: "draft.created" } });
    expect(rule.json.message).to.equal("your plan allows no rules: upgrade the plan");
  });
});
