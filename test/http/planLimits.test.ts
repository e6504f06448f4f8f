import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { cause } from "#test/processes/sendWorld.ts";
import { asking } from "#test/support/asking.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

describe("plan limits over HTTP", () => {
  let service: InProcess;
  before(async () => {
    service = await startInProcess();
    const small = { ...planLimits.builder_pack, emailsPerPeriod: 3 };
    service.deps.settings.planLimits = { ...planLimits, builder_pack: small };
  });
  after(() => service.stop());

  async function tenant() {
    const id = randomUUID();
    const own = { ...cause, workspaceId: id };
    // Made long ago: what counts for a lifetime never starts anew.
    const workspace = workspaceCreated({ plan: "builder_pack", createdAt: "2024-01-31T00:00:00.000Z" });
    await service.deps.workspaces.handle(id, { type: "CreateWorkspace", workspace }, own);
    const { key } = await createApiKey(service.deps, { workspaceId: id, name: "test", scopes: allScopes }, own);
    const ask = asking(service.url, key);
    const identity = await service.identity(id);
    await service.deliver(identity.address, mail({ id: `${id}@x.example` }));
    const thread = (await ask("GET /v1/threads")).json.data[0];
    const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
    const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id };
    const submit = () => ask("POST /v1/drafts", { json: { ...based, body_text: "Tomorrow." } });
    const change = async (changes: { betaOverride?: boolean; plan?: "pro"; planStatus?: "active" | "past_due" }) => {
      const { position } = await setPlan(service.deps, { workspaceId: id, ...changes }, own);
      await service.deps.projected(position);
    };
    return { ask, submit, change, identity };
  }

  it("of 10 parallel sends as many succeed as the plan has left; the others can be sent under another plan [7 402 plan_limit_reached] [8 402 upgrade_url] [8 builder pack counters never reset]", async () => {
    const { ask, submit, change, identity } = await tenant();
    const drafts = await Promise.all(Array.from({ length: 10 }, async () => (await submit()).json.id as string));
    const answers = await Promise.all(drafts.map((id) => ask(`POST /v1/drafts/${id}/send`)));
    const refused = answers.filter(({ status }) => status === 402);
    expect([answers.filter(({ status }) => status === 202).length, refused.length]).to.deep.equal([3, 7]);
    for (const { json, headers } of refused) {
      expect(json.error).to.equal("plan_limit_reached");
      expect(json.upgrade_url).to.equal("http://localhost:8080/billing");
      expect(headers.get("plan-status")).to.equal("active");
    }
    await change({ planStatus: "past_due" });
    const due = await ask(`POST /v1/drafts/${drafts[answers.indexOf(refused[0]!)]}/send`);
    expect([due.status, due.headers.get("plan-status")]).to.deep.equal([402, "past_due"]);
    await change({ planStatus: "active" });
    const me = async () => (await ask("GET /v1/workspaces/me")).json;
    expect(await me()).to.include({ emails_sent_this_period: 3, current_period_start: null });

    await ask(`PATCH /v1/identities/${identity.id}`, { json: { auto_approve_replies: true } });
    const before = (await ask("GET /v1/drafts?limit=100")).json.total;
    const auto = await submit();
    expect([auto.status, auto.json.error]).to.deep.equal([402, "plan_limit_reached"]);
    expect((await ask("GET /v1/drafts?limit=100")).json.total).to.equal(before);

    await change({ plan: "pro" });
    expect((await me()).emails_sent_this_period).to.equal(0);
    const [waiting] = (await ask("GET /v1/drafts?status=pending")).json.data;
    expect((await ask(`POST /v1/drafts/${waiting.id}/send`)).status).to.equal(202);
    await until(async () => (await ask(`GET /v1/drafts/${waiting.id}`)).json.status === "sent");
    expect((await me()).emails_sent_this_period).to.equal(1);
  });

  it("beta_override lifts the plan's limits, which are in force again without it [8 beta_override]", async () => {
    const { ask, submit, change } = await tenant();
    await change({ betaOverride: true });
    const send = async () => (await ask(`POST /v1/drafts/${(await submit()).json.id}/send`)).status;
    for (let n = 0; n < 4; n++) expect(await send()).to.equal(202);
    const [sandbox] = (await ask("GET /v1/domains")).json.data;
    const body = { domain_id: sandbox.id, local_part: `second-${randomUUID().slice(0, 8)}`, display_name: "Second" };
    expect((await ask("POST /v1/identities", { json: body })).status).to.equal(201);
    expect((await ask("GET /v1/billing/subscription")).json).to.include({
      beta_override: true,
      emails_sent_this_period: 4,
      identity_count: 2,
    });
    await change({ betaOverride: false });
    expect(await send()).to.equal(402);
    const third = await ask("POST /v1/identities", {
      json: { ...body, local_part: `third-${randomUUID().slice(0, 8)}` },
    });
    expect([third.status, third.json.error]).to.deep.equal([402, "plan_limit_reached"]);
    expect(third.json.message).to.equal(
      "your plan allows 1 identity, which already exists: delete it, or upgrade the plan",
    );
    const rule = await ask("POST /v1/rules", { json: { name: "none", trigger_event: "draft.created" } });
    expect(rule.json.message).to.equal("your plan allows no rules: upgrade the plan");
  });
});
