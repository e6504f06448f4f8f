import { expect } from "chai";
import { usedAt } from "#src/commands/asOf/usageAt.ts";
import { assignDraft } from "#src/commands/drafts/assignDraft.ts";
import { operator } from "#test/support/cause.ts";
import { deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("earlier states over HTTP", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  /** Returns the present time, and lets a second pass so that what follows is later. */
  const moment = (): string => {
    const at = service.clock.now().toISOString();
    service.clock.advance(1_000);
    return at;
  };
  const read = async (path: string, at: string) => tenant.ask(`GET ${path}${path.includes("?") ? "&" : "?"}at=${at}`);
  const rule = { name: "Rule", trigger_event: "email.received", conditions: {}, actions: [] };
  const makeRule = async (more: object = {}) => {
    const { json } = await tenant.ask("POST /v1/rules", { json: { ...rule, ...more } });
    return json;
  };

  it("a thread is read as it was, with the messages and drafts of that time", async () => {
    const before = moment();
    const mail = await tenant.mail();
    await tenant.lastMessage(mail, ({ authentication }) => authentication !== null);
    const draft = await tenant.draft(mail);
    await service.caughtUp();
    const whole = await tenant.thread(mail);
    const then = moment();
    await draft.sendNow();
    await tenant.mail({ inReplyTo: mail, text: "And now?" });
    await tenant.ask(`PATCH /v1/threads/${mail.threadId}`, { json: { priority: "urgent" } });
    const path = `/v1/threads/${mail.threadId}`;
    const { status, json } = await read(path, then);
    expect(status).to.equal(200);
    expect(json).to.deep.include({ priority: "normal", messages_total: 1, drafts: whole.drafts });
    expect(json.messages.map(({ id }: any) => id)).to.deep.equal([mail.messageId]);
    expect((await read(path, before)).outcome).to.equal("404 not_found");
    expect((await tenant.thread(mail)).messages_total).to.equal(3);
  });

  it("an earlier state of a draft has its assignee, while that member could decide", async () => {
    const { user } = await deskOf(service, tenant.id, { role: "approver" });
    const draft = await tenant.draft(await tenant.mail());
    const cause = operator(tenant.id);
    await assignDraft(service.deps, { workspaceId: tenant.id, draftId: draft.id, userId: user.id }, cause);
    const assigned = moment();
    const { memberId } = user;
    const command = { type: "ChangeRole", memberId, role: "auditor", by: "operator" } as const;
    await service.deps.members.handle(tenant.id, command, cause);
    await service.caughtUp();
    const assigneeAt = async (at: string) => (await read(`/v1/drafts/${draft.id}`, at)).json.assigned_to?.user_id;
    expect(await assigneeAt(assigned)).to.equal(user.id);
    expect(await assigneeAt(moment())).to.equal(undefined);
  });

  it("a merged thread is read as it was before the merge, and with the survivor's content after it", async () => {
    const one = await tenant.mail({ subject: "One" });
    const two = await tenant.mail({ subject: "Two" });
    const draft = await tenant.draft(two);
    await service.caughtUp();
    const then = moment();
    const both = await tenant.mail({ inReplyTo: [one.id, two.id], subject: "Re: both" });
    const after = moment();
    const absorbed = [one, two].find(({ threadId }) => threadId !== both.threadId)!;
    const before = await read(`/v1/threads/${absorbed.threadId}`, then);
    expect(before.json).to.deep.include({ id: absorbed.threadId, merged_into: null, messages_total: 1 });
    const merged = await read(`/v1/threads/${absorbed.threadId}`, after);
    expect(merged.json).to.deep.include({ id: absorbed.threadId, merged_into: both.threadId, messages_total: 3 });
    const survivor = await read(`/v1/threads/${both.threadId}`, then);
    expect(survivor.json.messages_total).to.equal(1);
    const ofDraft = async (at: string) => (await read(`/v1/drafts/${draft.id}`, at)).json.thread_id;
    expect([await ofDraft(then), await ofDraft(after)]).to.deep.equal([two.threadId, both.threadId]);
  });

  it("an identity that was deleted since is read and listed as it was, its channel's secret masked", async () => {
    const secret = "12345:secret-token-of-a-telegram-bot";
    const approvalChannel = { type: "telegram" as const, config: { bot_token: secret, chat_id: "-7" } };
    const { id } = await tenant.newIdentity({ displayName: "First", approvalChannel });
    await service.caughtUp();
    const then = moment();
    await tenant.ask(`PATCH /v1/identities/${id}`, { json: { display_name: "Second" } });
    const renamed = moment();
    await tenant.ask(`DELETE /v1/identities/${id}`);
    const path = `/v1/identities/${id}`;
    const { json, text } = await read(path, then);
    expect(json).to.include({ id, display_name: "First" });
    expect(json.approval_channel.config).to.deep.equal({ bot_token: "****-bot", chat_id: "-7" });
    expect(text).not.to.contain(secret);
    expect((await read(path, renamed)).json.display_name).to.equal("Second");
    expect((await read(path, moment())).outcome).to.equal("404 not_found");
    const listed = async (query: string) =>
      (await read(`/v1/identities?${query}`, then)).json.data.map((row: any) => row.id);
    expect(await listed("status=active")).to.include(id);
    expect(await listed("status=disabled")).not.to.include(id);
  });

  it("the rules of a time are listed in the order of that time, page by page, those deleted since too", async () => {
    const [low, high] = [await makeRule({ name: "low", priority: 2 }), await makeRule({ name: "high", priority: 1 })];
    const then = moment();
    await tenant.ask(`PATCH /v1/rules/${high.id}`, { json: { priority: 9, status: "inactive" } });
    await tenant.ask(`DELETE /v1/rules/${low.id}`);
    const { json: first } = await read("/v1/rules?limit=1", then);
    expect(first).to.include({ total: 2 });
    const { json: second } = await read(`/v1/rules?limit=1&cursor=${first.next_cursor}`, then);
    expect([...first.data, ...second.data]).to.deep.equal([high, low]);
    expect(second.next_cursor).to.equal(null);
    expect((await read(`/v1/rules/${low.id}`, then)).json).to.deep.equal(low);
    const { outcome } = await read(`/v1/rules?limit=1&cursor=${first.next_cursor}`, moment());
    expect(outcome, "a cursor is of one time").to.equal("422 invalid_request");
  });

  it("a subscription is read as it was, with the usage of that time", async () => {
    const then = moment();
    const { json: before } = await tenant.ask("GET /v1/billing/subscription");
    await makeRule();
    await tenant.mail();
    await service.caughtUp();
    const { json: now } = await tenant.ask("GET /v1/billing/subscription");
    expect(now.rule_count).to.equal(before.rule_count + 1);
    expect((await read("/v1/billing/subscription", then)).json).to.deep.equal(before);
    expect((await read("/v1/billing/subscription", moment())).json).to.deep.equal(now);
  });

  it("the usage at a time is counted over many pages of a quota, and the same when it is asked again", async () => {
    const { quotas } = service.deps;
    const stream = `quota-${tenant.id}-from20200101`;
    const cause = operator(tenant.id);
    const reserve = async (prefix: string, count: number) => {
      const reservationIds = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
      await quotas.handle(stream, { type: "ReserveThoseThatFit", reservationIds, cap: null }, cause);
      return new Date(moment());
    };
    const times = [await reserve("a", 400), await reserve("b", 400), await reserve("c", 400)];
    for (const reservationId of ["a-0", "never-reserved", "c-0"])
      await quotas.handle(stream, { type: "ReleaseQuota", reservationId }, cause);
    const end = new Date(moment());
    for (const _ of ["first", "again"]) {
      const used = await Promise.all([...times, end].map((at) => usedAt(service.deps, stream, at)));
      expect(used).to.deep.equal([400, 800, 1_200, 1_198]);
    }
    expect((await quotas.load(stream)).state.used).to.equal(1_198);
  });

  it("an earlier state needs read:audit, and a time that is one and not in the future", async () => {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail);
    const { id: ruleId } = await makeRule();
    const key = await tenant.keyOf(["read:threads", "read:identities", "read:rules", "read:billing"]);
    const paths = [
      `/v1/threads/${mail.threadId}`,
      `/v1/drafts/${draft.id}`,
      `/v1/identities/${tenant.identity.id}`,
      "/v1/identities",
      `/v1/rules/${ruleId}`,
      "/v1/rules",
      "/v1/billing/subscription",
    ];
    for (const path of paths) {
      const at = service.clock.now().toISOString();
      expect((await tenant.ask(`GET ${path}`, { key })).status, path).to.equal(200);
      expect((await tenant.ask(`GET ${path}?at=${at}`, { key })).outcome, path).to.equal("401 insufficient_scope");
      expect((await read(path, at)).status, path).to.equal(200);
      for (const wrong of ["2100-01-01T00:00:00Z", "yesterday"]) {
        const { outcome, json } = await read(path, wrong);
        expect([outcome, json.message.split(":")[0]], path).to.deep.equal(["422 invalid_request", "at"]);
      }
    }
  });

  it("what another workspace had at a time is answered like what never was", async () => {
    const mail = await tenant.mail();
    const { id: ruleId } = await makeRule();
    const at = moment();
    const stranger = await openTenant(service);
    const nothing = "0193a0aa-0000-7000-8000-000000000009";
    for (const [noun, id] of [
      ["threads", mail.threadId],
      ["identities", tenant.identity.id],
      ["rules", ruleId],
    ]) {
      const answers = await Promise.all(
        [id, nothing].map(async (each) => (await stranger.ask(`GET /v1/${noun}/${each}?at=${at}`)).json),
      );
      const [theirs, none] = answers.map(({ error, message, field }: any) => ({ error, message, field }));
      expect(theirs, noun).to.deep.equal(none);
      expect(theirs?.error).to.equal("not_found");
    }
    const { json } = await stranger.ask(`GET /v1/rules?at=${moment()}`);
    expect(json).to.include({ total: 0 });
  });
});
