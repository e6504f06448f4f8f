import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { reception } from "#src/commands/inbound/receiveMail.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { Plan } from "#streams/workspace/events.ts";
import { type PlanLimits, planLimits } from "#streams/workspace/planLimits.ts";
import { cause } from "#test/processes/sendWorld.ts";
import { type Ask, asking } from "#test/support/asking.ts";
import { workspaceCreated } from "#test/support/examples/index.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

describe("held mail over HTTP [d5 held]", () => {
  let service: InProcess;
  before(async () => {
    service = await startInProcess();
  });
  after(() => service.stop());

  /** Small limits, so that they are reached; whose they are the contract's tests say. */
  const limited = (limits: Partial<Record<Plan, Partial<PlanLimits>>>) => {
    const of = (plan: Plan) => ({ ...planLimits[plan], ...limits[plan] });
    service.deps.settings.planLimits = { builder_pack: of("builder_pack"), pro: of("pro"), agency: of("agency") };
  };

  async function tenant(plan: Plan, createdAt = new Date().toISOString()) {
    const { deps } = service;
    const id = randomUUID();
    const own = { ...cause, workspaceId: id };
    const workspace = workspaceCreated({ plan, createdAt });
    await deps.workspaces.handle(id, { type: "CreateWorkspace", workspace }, own);
    const { key } = await createApiKey(deps, { workspaceId: id, name: "test", scopes: allScopes }, own);
    await service.caughtUp();
    const change = async (changes: Omit<Parameters<typeof setPlan>[1], "workspaceId">) => {
      const { position } = await setPlan(deps, { workspaceId: id, ...changes }, own);
      await deps.projected(position);
    };
    return { id, ask: asking(service.url, key), change };
  }

  /** Acknowledged, all at once; filing goes on by itself. */
  async function acknowledge(mails: readonly { to: string; raw: string }[]): Promise<void> {
    const { resolve, accept } = reception(service.deps);
    await Promise.all(
      mails.map(async ({ to, raw }) => {
        const recipient = (await resolve(to))!;
        const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
        await accept({
          recipients: [{ recipient, address: to }],
          from: "ann@customer.example",
          raw: Buffer.from(raw),
          remote,
        });
      }),
    );
  }

  const ledger = async (ask: Ask): Promise<any[]> => (await ask("GET /v1/inbound?limit=100")).json.data;
  const isFiled = async (ask: Ask, count: number) => {
    const entries = await ledger(ask);
    return entries.length === count && entries.every(({ filed_position: filed }) => filed !== null);
  };
  const disable = (ask: Ask, id: string, status = "disabled") =>
    ask(`PATCH /v1/identities/${id}`, { json: { status } });
  const tally = (entries: any[]) => {
    const counts: Record<string, number> = {};
    for (const { disposition } of entries) counts[disposition] = (counts[disposition] ?? 0) + 1;
    return counts;
  };

  it("mail to a disabled identity is shown only in the ledger, makes drafts stale, and is released later [3 identity disabled]", async () => {
    limited({});
    const { id, ask } = await tenant("agency");
    const to = "held@approvers.example";
    const identity = await service.identity(id, { approvalChannel: { type: "email", config: { to } } });
    await service.deliver(identity.address, mail({ id: "first@x.example" }));
    const thread = (await ask("GET /v1/threads")).json.data[0];
    const first = (await ask(`GET /v1/threads/${thread.id}`)).json.messages[0];
    const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: first.id };
    const submit = async (body: object) => ask("POST /v1/drafts", { json: { ...based, body_text: "Soon.", ...body } });
    const drafts = [(await submit({})).json, (await submit({})).json];
    await until(
      async () => (await service.outbox.newest(10)).filter(({ envelope }) => envelope.to.includes(to)).length === 2,
    );

    expect((await disable(ask, identity.id)).json.status).to.equal("disabled");
    const again = { subject: "SECRET words", text: "SECRET words", from: "Ann <ann@customer.example>" };
    await service.deliver(identity.address, mail({ id: "again@x.example", inReplyTo: "first@x.example", ...again }));
    await service.deliver(identity.address, mail({ id: "alone@x.example", ...again }));
    const [alone, held] = await ledger(ask);
    for (const entry of [alone, held]) {
      expect(entry).to.include({ disposition: "held_identity_disabled", message_id: null });
      expect(entry.reason).to.equal("the identity is disabled");
      expect(entry.filed_position).to.be.greaterThan(entry.position);
    }
    const threads = await ask("GET /v1/threads");
    expect(threads.json.data.map((each: any) => each.id)).to.deep.equal([thread.id]);
    expect(threads.json.data[0]).to.include({ message_count: 1, subject: "My order" });
    const read = (await ask(`GET /v1/threads/${thread.id}`)).json;
    expect(read.messages).to.have.length(1);
    const newMessageId = read.drafts[0].newer_message_id;
    expect(newMessageId).to.be.a("string");
    expect((await submit({})).json).to.include({ stale_warning: true, newer_message_id: newMessageId });
    expect((await ask(`GET /v1/messages/${newMessageId}/raw`)).status).to.equal(404);
    const onHeld = await submit({ based_on_message_id: newMessageId });
    expect([onHeld.status, onHeld.json.error]).to.deep.equal([404, "not_found"]);
    const everything = JSON.stringify([threads.json, read, await ledger(ask), (await ask("GET /v1/contacts")).json]);
    expect(everything).not.to.contain("SECRET");
    expect((await ask("GET /v1/threads?q=SECRET")).json.total).to.equal(0);
    const disabled = await ask(`POST /v1/drafts/${drafts[0].id}/send`);
    expect([disabled.status, disabled.json.error]).to.deep.equal([422, "identity_not_active"]);

    const [, asked] = (await service.outbox.newest(10)).filter(({ envelope }) => envelope.to.includes(to));
    const token = /\/a\/([\w-]+)\?d=approve/.exec(asked!.text)![1]!;
    const { find, decide } = approvalDecisions(service.deps);
    const shown = await find(token);
    expect(shown!.newerMessage).to.include({ newText: null, fromEmail: "ann@customer.example" });
    expect(JSON.stringify(shown)).not.to.contain("SECRET");
    const pressed = { decision: "approve", reason: undefined, ip: undefined, userAgent: undefined } as const;
    const outcome = await decide({ token, ...pressed, requestId: undefined });
    expect(outcome).to.deep.include({ kind: "stale" }).and.to.have.nested.property("newer.newText", null);

    await disable(ask, identity.id, "active");
    const { status, json } = await ask(`POST /v1/drafts/${drafts[1].id}/send`);
    if (status === 409) expect(json).to.include({ error: "stale_draft", new_message_id: newMessageId });
    else expect([status, json.error]).to.deep.equal([422, "invalid_status"]);
    await until(async () => tally(await ledger(ask)).threaded === 3 && (await isFiled(ask, 3)));
    await service.caughtUp();
    const [aloneNow, heldNow] = await ledger(ask);
    expect(heldNow).to.include({ message_id: newMessageId, reason: null, position: held.position });
    expect(heldNow.filed_position).to.be.greaterThan(held.filed_position);
    expect(aloneNow.filed_position).to.be.greaterThan(alone.filed_position);
    expect((await ask(`GET /v1/messages/${newMessageId}/raw`)).text).to.contain("SECRET words");
    expect((await ask("GET /v1/threads")).json.total).to.equal(2);
    expect((await ask(`GET /v1/threads/${thread.id}`)).json.messages).to.have.length(2);
    expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(3);
  });

  it("of 50 parallel mails the quota's number is stored; the others are released in order as the plan grows [8 inbound] [8 beta_override] [d10 inbound] [8 pro]", async () => {
    limited({ pro: { inboundPerPeriod: 7 }, agency: { inboundPerPeriod: 30 } });
    const { id, ask, change } = await tenant("pro");
    const [a, b] = [await service.identity(id), await service.identity(id)];
    await acknowledge(
      Array.from({ length: 50 }, (_, n) => ({
        to: (n % 2 ? a : b).address,
        raw: mail({ id: `${n}.${id}@x.example` }),
      })),
    );
    await until(() => isFiled(ask, 50));
    const stored = async () => (await ask("GET /v1/workspaces/me")).json.inbound_received_this_period;
    const messages = async () => (await ask("GET /v1/threads?limit=100")).json.total;
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 7, held_over_quota: 43 });
    expect([await stored(), await messages()]).to.deep.equal([7, 7]);
    const waiting = (await ledger(ask)).filter(({ disposition }) => disposition === "held_over_quota");

    await change({ plan: "agency" });
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

    await change({ betaOverride: true });
    await until(async () => (await messages()) === 50);
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 50 });
  });

  it("mail held over the quota is released when the payment processor begins a new period", async () => {
    limited({ pro: { inboundPerPeriod: 1 } });
    const { id, ask, change } = await tenant("pro");
    const identity = await service.identity(id);
    for (const n of [1, 2]) await service.deliver(identity.address, mail({ id: `period-${n}@x.example` }));
    expect(tally(await ledger(ask))).to.deep.equal({ threaded: 1, held_over_quota: 1 });
    const next = { currentPeriodStart: new Date().toISOString(), currentPeriodEnd: "2999-01-01T00:00:00.000Z" };
    await change(next);
    await until(async () => tally(await ledger(ask)).threaded === 2);
    expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(1);
  });

  it("mail held over the quota is released when the calendar month ends [d10 periods]", async () => {
    limited({ pro: { inboundPerPeriod: 1 } });
    const turn = new Date(Date.now() + 4_000);
    const monthBefore = new Date(turn);
    monthBefore.setUTCMonth(turn.getUTCMonth() - 1);
    const { id, ask } = await tenant("pro", monthBefore.toISOString());
    const identity = await service.identity(id);
    await acknowledge([1, 2].map((n) => ({ to: identity.address, raw: mail({ id: `turn-${n}@x.example` }) })));
    await until(() => isFiled(ask, 2));
    await until(async () => tally(await ledger(ask)).threaded === 2);
    expect(Date.now()).to.be.greaterThan(turn.getTime() - 1);
    expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(1);
  });

  it("an identity above the plan's cap cannot send and its mail is held, until there is room again [d10 canceled]", async () => {
    limited({});
    const { id, ask, change } = await tenant("pro");
    const [older, newer] = [await service.identity(id), await service.identity(id)];
    for (const { address } of [older, newer]) await service.deliver(address, mail({ id: `before.${address}` }));
    const submitted = async (identityId: string) => {
      const thread = (await ask(`GET /v1/threads?identity_id=${identityId}`)).json.data[0];
      const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
      const body = {
        thread_id: thread.id,
        identity_id: identityId,
        based_on_message_id: message.id,
        body_text: "Yes.",
      };
      return (await ask("POST /v1/drafts", { json: body })).json.id as string;
    };
    const drafts = { older: await submitted(older.id), newer: await submitted(newer.id) };
    await change({ plan: "builder_pack" });
    for (const { address } of [older, newer])
      await service.deliver(address, mail({ id: `after.${address}`, inReplyTo: `before.${address}` }));
    const of = async (identityId: string) => (await ledger(ask)).filter((entry) => entry.identity_id === identityId);
    expect(tally(await of(older.id))).to.deep.equal({ threaded: 2 });
    expect(tally(await of(newer.id))).to.deep.equal({ threaded: 1, held_identity_disabled: 1 });
    expect((await of(newer.id))[0].reason).to.contain("plan");
    const refused = await ask(`POST /v1/drafts/${drafts.newer}/send`);
    expect([refused.status, refused.json.error]).to.deep.equal([422, "identity_not_active"]);
    expect(refused.json.message).to.contain("plan");
    expect((await ask(`GET /v1/identities/${newer.id}`)).json.status).to.equal("active");
    const capped = await ask("POST /v1/identities", {
      json: {
        domain_id: (await ask(`GET /v1/identities/${older.id}`)).json.domain_id,
        local_part: `x-${id.slice(0, 8)}`,
        display_name: "X",
      },
    });
    expect([capped.status, capped.json.error]).to.deep.equal([402, "plan_limit_reached"]);
    await ask(`DELETE /v1/identities/${older.id}`);
    await until(async () => tally(await of(newer.id)).threaded === 2 && (await isFiled(ask, 4)));
    const late = await ask(`POST /v1/drafts/${drafts.newer}/send`);
    expect([late.status, late.json.error]).to.deep.equal([409, "stale_draft"]);
  });
});
