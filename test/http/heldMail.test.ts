import { expect } from "chai";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import type { Plan } from "#streams/workspace/events.ts";
import { type PlanLimits, planLimits } from "#streams/workspace/planLimits.ts";
import type { Ask } from "#test/support/asking.ts";
import { type Identity, type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";
import { openTenantOn } from "#test/support/story/plan.ts";

describe("held mail over HTTP [d5 held]", () => {
  let service: InProcess;
  before(async () => {
    service = await startInProcess();
  });
  after(() => service.stop());

  /** Sets smaller limits, so that they are reached; the contract's tests have the real ones. */
  const limited = (limits: Partial<Record<Plan, Partial<PlanLimits>>>) => {
    const of = (plan: Plan) => ({ ...planLimits[plan], ...limits[plan] });
    service.deps.settings.planLimits = { builder_pack: of("builder_pack"), pro: of("pro"), agency: of("agency") };
  };

  /** Accepts the mails in parallel, and does not wait until they are filed. */
  async function acknowledge(mails: readonly { to: string; raw: string }[]): Promise<void> {
    const { resolve, accept } = createReception(service.deps);
    const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
    await Promise.all(
      mails.map(async ({ to, raw }) => {
        const recipients = [{ recipient: (await resolve(to))!, address: to }];
        await accept({ recipients, from: "ann@customer.example", raw: Buffer.from(raw), remote });
      }),
    );
  }

  /** Delivers a mail that may be held (`tenant.mail` needs one that is filed on a thread). */
  const deliver = (to: Identity, different: Parameters<typeof mail>[0]) => service.deliver(to.address, mail(different));
  const ledger = async (ask: Ask): Promise<any[]> => (await ask("GET /v1/inbound?limit=100")).json.data;
  const isFiled = async (ask: Ask, count: number) => {
    const entries = await ledger(ask);
    return entries.length === count && entries.every(({ filed_position: filed }) => filed !== null);
  };
  const tally = (entries: any[]) => {
    const counts: Record<string, number> = {};
    for (const { disposition } of entries) counts[disposition] = (counts[disposition] ?? 0) + 1;
    return counts;
  };

  it("mail to a disabled identity is shown only in the ledger, makes drafts stale, and is released later [3 identity disabled]", async () => {
    limited({});
    const to = "held@approvers.example";
    const approvalChannel = { type: "email", config: { to } } as const;
    const tenant = await openTenantOn(service, { plan: "agency" }, { approvalChannel });
    const { ask, identity } = tenant;
    const become = (status: string) => ask(`PATCH /v1/identities/${identity.id}`, { json: { status } });
    const first = await tenant.mail();
    const drafts = [await tenant.draft(first), await tenant.draft(first)] as const;
    const approval = await drafts[0].approvalMail(to);
    await drafts[1].asked();

    expect((await become("disabled")).json.status).to.equal("disabled");
    const secret = { subject: "SECRET words", text: "SECRET words", from: "Ann <ann@customer.example>" };
    await deliver(identity, { id: "again@x.example", inReplyTo: first.id, ...secret });
    await deliver(identity, { id: "alone@x.example", ...secret });
    const [alone, held] = await ledger(ask);
    for (const entry of [alone, held]) {
      expect(entry).to.include({ disposition: "held_identity_disabled", message_id: null });
      expect(entry.reason).to.equal("the identity is disabled");
      expect(entry.filed_position).to.be.greaterThan(entry.position);
    }
    const threads = await ask("GET /v1/threads");
    expect(threads.json.data.map((each: any) => each.id)).to.deep.equal([first.threadId]);
    expect(threads.json.data[0]).to.include({ message_count: 1, subject: "My order" });
    const read = await tenant.thread(first);
    expect(read.messages).to.have.length(1);
    const newMessageId = read.drafts[0].newer_message_id;
    expect(newMessageId).to.be.a("string");
    expect((await tenant.draft(first)).json).to.include({ stale_warning: true, newer_message_id: newMessageId });
    expect((await ask(`GET /v1/messages/${newMessageId}/raw`)).status).to.equal(404);
    const onHeld = await tenant.submit(first, { based_on_message_id: newMessageId });
    expect(onHeld.outcome).to.equal("404 not_found");
    const everything = JSON.stringify([threads.json, read, await ledger(ask), (await ask("GET /v1/contacts")).json]);
    expect(everything).not.to.contain("SECRET");
    expect((await ask("GET /v1/threads?q=SECRET")).json.total).to.equal(0);
    expect((await drafts[0].ask("POST send")).outcome).to.equal("422 identity_not_active");

    const token = approval.token();
    const { find, decide } = approvalDecisions(service.deps);
    const shown = await find(token);
    expect(shown!.newerMessage).to.include({ newText: null, fromEmail: "ann@customer.example" });
    expect(JSON.stringify(shown)).not.to.contain("SECRET");
    const pressed = { decision: "approve", reason: undefined, ip: undefined, userAgent: undefined } as const;
    const outcome = await decide({ token, ...pressed, requestId: undefined });
    expect(outcome).to.deep.include({ kind: "stale" }).and.to.have.nested.property("newer.newText", null);

    await become("active");
    const sent = await drafts[1].ask("POST send");
    if (sent.status === 409) expect(sent.json).to.include({ error: "stale_draft", new_message_id: newMessageId });
    else expect(sent.outcome).to.equal("422 invalid_status");
    await until(async () => tally(await ledger(ask)).threaded === 3 && (await isFiled(ask, 3)));
    await service.caughtUp();
    const [aloneNow, heldNow] = await ledger(ask);
    expect(heldNow).to.include({ message_id: newMessageId, reason: null, position: held.position });
    expect(heldNow.filed_position).to.be.greaterThan(held.filed_position);
    expect(aloneNow.filed_position).to.be.greaterThan(alone.filed_position);
    expect((await ask(`GET /v1/messages/${newMessageId}/raw`)).text).to.contain("SECRET words");
    expect((await ask("GET /v1/threads")).json.total).to.equal(2);
    expect((await tenant.thread(first)).messages).to.have.length(2);
    expect((await tenant.usage()).inbound_received_this_period).to.equal(3);
  });

  it("of 50 parallel mails the quota's number is stored; the others are released in order as the plan grows [8 inbound] [8 beta_override] [d10 inbound] [8 pro]", async () => {
    limited({ pro: { inboundPerPeriod: 7 }, agency: { inboundPerPeriod: 30 } });
    const tenant = await openTenantOn(service, { plan: "pro" });
    const { ask, changePlan } = tenant;
    const addresses = [tenant.identity.address, (await tenant.newIdentity()).address];
    await acknowledge(
      Array.from({ length: 50 }, (_, n) => ({
        to: addresses[n % 2]!,
        raw: mail({ id: `${n}.${tenant.id}@x.example` }),
      })),
    );
    await until(() => isFiled(ask, 50));
    const stored = async () => (await tenant.usage()).inbound_received_this_period;
    const messages = async () => (await ask("GET /v1/threads?limit=100")).json.total;
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 7, held_over_quota: 43 });
    expect([await stored(), await messages()]).to.deep.equal([7, 7]);
    const waiting = (await ledger(ask)).filter(({ disposition }) => disposition === "held_over_quota");

    await changePlan({ plan: "agency" });
    await until(async () => (await messages()) === 30);
    await service.caughtUp();
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 30, held_over_quota: 20 });
    expect(await stored()).to.equal(30);
    const oldest = waiting
      .map(({ id }) => id)
      .reverse()
      .slice(0, 23);
    const released = (await ledger(ask)).filter((entry) => oldest.includes(entry.id));
    expect(tally(released)).to.deep.equal({ threaded: 23 });

    await changePlan({ betaOverride: true });
    await until(async () => (await messages()) === 50);
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 50 });
  });

  it("mail held over the quota is released when the payment processor begins a new period", async () => {
    limited({ pro: { inboundPerPeriod: 1 } });
    const tenant = await openTenantOn(service, { plan: "pro" });
    const { ask } = tenant;
    for (const n of [1, 2]) await deliver(tenant.identity, { id: `period-${n}@x.example` });
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 1, held_over_quota: 1 });
    const currentPeriodStart = new Date().toISOString();
    await tenant.changePlan({ currentPeriodStart, currentPeriodEnd: "2999-01-01T00:00:00.000Z" });
    await until(async () => tally(await ledger(ask)).threaded === 2);
    expect((await tenant.usage()).inbound_received_this_period).to.equal(1);
  });

  it("mail held over the quota is released when the calendar month ends [d10 periods]", async () => {
    limited({ pro: { inboundPerPeriod: 1 } });
    const turn = new Date(Date.now() + 4_000);
    const monthBefore = new Date(turn);
    monthBefore.setUTCMonth(turn.getUTCMonth() - 1);
    const tenant = await openTenantOn(service, { plan: "pro", createdAt: monthBefore.toISOString() });
    const { ask, identity } = tenant;
    await acknowledge([1, 2].map((n) => ({ to: identity.address, raw: mail({ id: `turn-${n}@x.example` }) })));
    await until(() => isFiled(ask, 2));
    await until(async () => tally(await ledger(ask)).threaded === 2);
    expect(Date.now()).to.be.greaterThan(turn.getTime() - 1);
    expect((await tenant.usage()).inbound_received_this_period).to.equal(1);
  });

  it("an identity above the plan's cap cannot send and its mail is held, until there is room again [d10 canceled]", async () => {
    limited({});
    const tenant = await openTenantOn(service, { plan: "pro" });
    const { ask, identity: older } = tenant;
    const newer = await tenant.newIdentity();
    const before = [await tenant.mail({ to: older }), await tenant.mail({ to: newer })] as const;
    await tenant.draft(before[0]);
    const draft = await tenant.draft(before[1]);
    await tenant.changePlan({ plan: "builder_pack" });
    for (const { id, identity } of before) await deliver(identity, { id: `after.${id}`, inReplyTo: id });
    const of = async (identityId: string) => (await ledger(ask)).filter((entry) => entry.identity_id === identityId);
    expect(tally(await of(older.id))).to.deep.equal({ threaded: 2 });
    expect(tally(await of(newer.id))).to.deep.equal({ threaded: 1, held_identity_disabled: 1 });
    expect((await of(newer.id))[0].reason).to.contain("plan");
    const refused = await draft.ask("POST send");
    expect(refused.outcome).to.equal("422 identity_not_active");
    expect(refused.json.message).to.contain("plan");
    expect((await ask(`GET /v1/identities/${newer.id}`)).json.status).to.equal("active");
    const { domain_id } = (await ask(`GET /v1/identities/${older.id}`)).json;
    const third = { domain_id, local_part: `x-${tenant.id.slice(0, 8)}`, display_name: "X" };
    expect((await ask("POST /v1/identities", { json: third })).outcome).to.equal("402 plan_limit_reached");
    await ask(`DELETE /v1/identities/${older.id}`);
    await until(async () => tally(await of(newer.id)).threaded === 2 && (await isFiled(ask, 4)));
    expect((await draft.ask("POST send")).outcome).to.equal("409 stale_draft");
  });
});
