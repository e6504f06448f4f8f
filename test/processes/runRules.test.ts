import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { updateContact } from "#src/commands/contacts.ts";
import { type Cause, createHandle } from "#src/commands/handle.ts";
import { updateIdentity } from "#src/commands/identities.ts";
import { takeAction } from "#src/commands/ruleActions.ts";
import { aboutDraft } from "#src/commands/ruleFacts.ts";
import { evaluateRules, receivedRunId } from "#src/commands/ruleRuns.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import { causedBy } from "#src/processes/cause.ts";
import type { Timer } from "#src/processes/process.ts";
import { runRules } from "#src/processes/runRules.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { draftStream } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { ruleRunDecider } from "#streams/ruleRun/decider.ts";
import { ruleRunStream } from "#streams/ruleRun/events.ts";
import type { Authentication, ContactStatus } from "#streams/thread/events.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

const proof: Authentication = { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true };
const claim: Authentication = { spf: "fail", dkim: "none", dmarc: "fail", aligned: false };
const ann = "ann@customer.example";

const when = (field: string, value: string, op = "equals") => ({ operator: "AND", conditions: [{ field, op, value }] });
const trusted = when("contact.status", "trusted");

describe("rules at work", function () {
  this.timeout(120_000);
  let service: InProcess;
  let said: Authentication | Promise<Authentication>;

  before(async () => {
    service = await startInProcess();
    service.deps.authenticator.authenticate = async () => said;
  });
  beforeEach(() => {
    said = proof;
  });
  after(() => service?.stop());

  const operator = (workspaceId: string): Cause => ({
    ...{ actor: { kind: "operator", id: "test" }, workspaceId },
    ...{ correlationId: randomUUID(), causationId: randomUUID() },
  });

  /** A workspace with one identity, its rules, and what a customer and an agent do there. */
  async function world(settings: Partial<IdentitySettings> = {}) {
    const { id, ask } = await service.workspace();
    const identity = await service.identity(id, settings);
    const get = async (path: string) => (await ask(`GET ${path}`)).json;
    return {
      id,
      ask,
      identity,
      get,
      async rule(trigger_event: string, actions: object[], more: object = {}): Promise<any> {
        const { status, json } = await ask("POST /v1/rules", {
          json: { name: "Rule", trigger_event, actions, ...more },
        });
        expect(status, JSON.stringify(json)).to.equal(200);
        return json;
      },
      async contact(status: ContactStatus, tags: string[] = []) {
        const changes = { status, tags };
        await updateContact(service.deps, { workspaceId: id, email: ann, changes }, operator(id));
      },
      async mail(options: { subject?: string; text?: string; inReplyTo?: string; id?: string; from?: string } = {}) {
        const named = options.id ?? `${randomUUID()}@customer.example`;
        await service.deliver(identity.address, mail({ ...options, id: named, to: identity.address }));
        const { data } = await get(`/v1/threads?identity_id=${identity.id}`);
        const thread = await get(`/v1/threads/${data[0].id}`);
        return { thread, message: thread.messages.at(-1), rfcId: named };
      },
      async draft({ thread, message }: { thread: any; message: any }): Promise<any> {
        const json = {
          thread_id: thread.id,
          identity_id: identity.id,
          based_on_message_id: message.id,
          body_text: "Soon.",
        };
        const answer = await ask("POST /v1/drafts", { json });
        expect(answer.status, JSON.stringify(answer.json)).to.equal(201);
        return answer.json;
      },
      evaluations: async (rule: any) => (await get(`/v1/rules/${rule.id}/evaluations`)).data as any[],
      /** The rule's only evaluation, once everything it set in motion is settled. */
      async settled(rule: any): Promise<any> {
        let found: any[] = [];
        await until(async () => {
          found = (await get(`/v1/rules/${rule.id}/evaluations`)).data;
          return found.length > 0 && found.every(({ actions }) => actions.every((a: any) => a.outcome !== "pending"));
        });
        expect(found).to.have.length(1);
        return found[0];
      },
      status: async (draftId: string) => (await get(`/v1/drafts/${draftId}`)).status,
      async becomes(draftId: string, status: string) {
        await until(async () => (await get(`/v1/drafts/${draftId}`)).status === status).catch(async (error) => {
          const { data } = await get(`/v1/drafts/${draftId}/history`);
          throw new Error(`${error.message} (${data.map((event: any) => event.type)})`);
        });
        return get(`/v1/drafts/${draftId}`);
      },
      rulesApplied: (draftId: string) =>
        until(async () => {
          const { data } = await get(`/v1/drafts/${draftId}/history?limit=100`);
          return data.some((event: any) => event.type === "DraftRulesApplied");
        }),
    };
  }

  it("run on received mail by every field, and change thread and contact [6 email.received] [3 thread -> set_thread_status] [4 fields email.received] [4 action set_thread_status] [4 action add_tag] [4 action set_priority]", async () => {
    const { rule, mail: receive, identity, settled, get, contact } = await world();
    await contact("trusted", ["vip"]);
    const conditions = {
      operator: "AND",
      conditions: [
        { field: "message.from_email", op: "equals", value: "ANN@customer.example" },
        { field: "message.subject", op: "starts_with", value: "my ORDER" },
        { field: "message.body_text", op: "contains", value: "WHERE is" },
        { field: "thread.subject", op: "equals", value: "My order" },
        { field: "thread.status", op: "in", value: ["open"] },
        { field: "contact.status", op: "equals", value: "trusted" },
        { field: "contact.tag", op: "in", value: ["vip"] },
        { field: "contact.domain", op: "ends_with", value: "Customer.example" },
        { field: "identity.id", op: "equals", value: identity.id },
      ],
    };
    const actions = [
      { type: "set_thread_status", status: "closed" },
      { type: "set_priority", priority: "urgent" },
      { type: "add_tag", tag: "asked" },
    ];
    const matching = await rule("email.received", actions, { conditions });
    const other = await rule("email.received", actions, { conditions: when("message.subject", "Other") });
    const { thread, message } = await receive();
    const evaluation = await settled(matching);
    expect(evaluation).to.deep.include({
      ...{ rule_id: matching.id, rule_version: 1, trigger_event: "email.received", matched: true },
      ...{ thread_id: thread.id, message_id: message.id, draft_id: null, identity_id: identity.id },
      actions: actions.map(({ type }) => ({ type, outcome: "done", reason: null })),
    });
    expect(await settled(other)).to.deep.include({ matched: false, actions: [] });
    await service.caughtUp();
    expect(await get(`/v1/threads/${thread.id}`)).to.deep.include({ status: "closed", priority: "urgent" });
    const [known] = (await get("/v1/contacts")).data;
    expect(known.tags).to.deep.equal(["vip", "asked"]);
  });

  it("run in ascending priority, see what was done, and end where one says so [4 rule evaluation] [d9 GET /v1/rules/{id}/evaluations] [d9 evaluations]", async () => {
    const { rule, mail: receive, settled, evaluations, get } = await world();
    const last = await rule("email.received", [{ type: "set_priority", priority: "low" }], { priority: 30 });
    const stop = await rule("email.received", [{ type: "set_priority", priority: "high" }], {
      ...{ priority: 20, stop_after_match: true, conditions: when("thread.status", "waiting") },
    });
    const first = await rule("email.received", [{ type: "set_thread_status", status: "waiting" }], { priority: 10 });
    const off = await rule("email.received", [{ type: "set_priority", priority: "low" }], { status: "inactive" });
    const { thread } = await receive();
    for (const each of [first, stop]) expect((await settled(each)).matched).to.equal(true);
    for (const each of [last, off]) expect(await evaluations(each)).to.deep.equal([]);
    expect(await get(`/v1/threads/${thread.id}`)).to.deep.include({ status: "waiting", priority: "high" });
  });

  it("are limited to an identity, and to a workspace", async () => {
    const one = await world();
    const other = await world();
    const elsewhere = await service.identity(one.id);
    const limited = await one.rule("email.received", [], { identity_id: elsewhere.id });
    const own = await one.rule("email.received", [], { identity_id: one.identity.id });
    const foreign = await other.rule("email.received", []);
    await one.mail();
    await one.settled(own);
    expect(await one.evaluations(limited)).to.deep.equal([]);
    expect(await other.evaluations(foreign)).to.deep.equal([]);
  });

  it("do not run on a blocked contact's mail, nor on a machine's [d8 blocked]", async () => {
    const { rule, mail: receive, evaluations, contact, settled } = await world();
    const every = await rule("email.received", []);
    await contact("blocked");
    await receive({ subject: "Blocked" });
    await contact("unknown");
    await receive({ subject: "Last" });
    await settled(every);
    expect(await evaluations(every)).to.have.length(1);
  });

  it("approve a pending draft and queue it [3 pending -> approved by skip_approval] [4 action skip_approval] [6 draft.created] [6 draft.approved] [6 draft.sent] [6 email.sent] [d9 back-test]", async () => {
    const { rule, mail: receive, draft, becomes, settled, contact, identity, get, ask } = await world();
    await contact("trusted");
    const skip = await rule("draft.created", [{ type: "skip_approval" }], { conditions: trusted, name: "Trusted" });
    const approved = await rule("draft.approved", [], { conditions: when("identity.id", identity.id) });
    const queued = await rule("email.sent", [], { conditions: when("message.to_emails", ann.toUpperCase()) });
    const sent = await rule("draft.sent", [{ type: "set_thread_status", status: "closed" }], {
      conditions: when("message.subject", "order", "contains"),
    });
    const submitted = await draft(await receive());
    expect(submitted.status, "nothing waits for rules").to.equal("pending");
    const done = await becomes(submitted.id, "sent");
    expect(done.decided_by).to.deep.include({ kind: "rule", id: skip.id, name: "Trusted", version: 1 });
    expect((await settled(skip)).actions).to.deep.equal([{ type: "skip_approval", outcome: "done", reason: null }]);
    for (const each of [approved, queued, sent])
      expect((await settled(each)).matched, each.trigger_event).to.equal(true);
    await service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("closed");
    await confirmDelivery(submitted.id);
    await service.caughtUp();
    const past = ["draft.created", "draft.approved", "email.sent", "draft.sent", "email.delivered"];
    for (const trigger_event of past) {
      const tried = { name: "Try", trigger_event, conditions: trusted, actions: [{ type: "skip_approval" }] };
      const { json } = await ask("POST /v1/rules/test", { json: { rule: tried } });
      expect([json.evaluated, json.matched], trigger_event).to.deep.equal([1, 1]);
      expect(json.results[0].draft_id).to.equal(submitted.id);
    }
  });

  it("grant nothing on the word of a sender who is not proven; the rest runs [d8 grants]", async () => {
    said = claim;
    const { rule, mail: receive, draft, status, settled, contact, get } = await world();
    await contact("trusted");
    const skip = await rule("draft.created", [{ type: "skip_approval" }, { type: "set_priority", priority: "low" }], {
      conditions: trusted,
    });
    const auto = await rule("email.received", [{ type: "set_approval_mode", mode: "auto" }], {
      conditions: when("message.from_email", ann),
    });
    const submitted = await draft(await receive());
    const [grant, rest] = (await settled(skip)).actions;
    expect(grant).to.deep.include({ type: "skip_approval", outcome: "suppressed" });
    expect(grant.reason).to.contain("DMARC");
    expect(rest.outcome).to.equal("done");
    expect((await settled(auto)).actions[0].outcome).to.equal("suppressed");
    expect(await status(submitted.id)).to.equal("pending");
    expect((await get(`/v1/threads/${submitted.thread_id}`)).priority).to.equal("low");
  });

  it("wait for the proof, and take it as not given after a while [d8 grants]", async () => {
    let know = (_: Authentication): void => {};
    said = new Promise<Authentication>((resolve) => {
      know = resolve;
    });
    const { rule, mail: receive, draft, becomes, contact } = await world();
    await contact("trusted");
    await rule("email.received", [{ type: "set_approval_mode", mode: "auto" }], { conditions: trusted });
    const submitted = await draft(await receive());
    expect(submitted.status).to.equal("pending");
    know(proof);
    await becomes(submitted.id, "sent");
  });

  it("without a proof in time go on without it [d8 grants]", async () => {
    let know = (_: Authentication): void => {};
    said = new Promise<Authentication>((resolve) => {
      know = resolve;
    });
    const { rule, mail: receive, draft, settled, contact, status } = await world();
    await contact("trusted");
    const skip = await rule("draft.created", [{ type: "skip_approval" }], { conditions: trusted });
    const submitted = await draft(await receive());
    const evaluation = await settled(skip);
    know(proof);
    expect(evaluation.actions[0].outcome).to.equal("suppressed");
    expect(await status(submitted.id)).to.equal("pending");
  });

  it("set the approval mode of the next draft based on a message, and of no further one [4 action set_approval_mode] [d9 set_approval_mode]", async () => {
    const { rule, mail: receive, draft, becomes, rulesApplied, status } = await world();
    await rule("email.received", [{ type: "set_approval_mode", mode: "auto" }]);
    const received = await receive();
    const first = await draft(received);
    await becomes(first.id, "sent");
    const second = await draft(received);
    await rulesApplied(second.id);
    expect(await status(second.id)).to.equal("pending");
  });

  it("take an auto-approval back before anything is sent [4 action set_approval_mode] [d9 set_approval_mode]", async () => {
    const settings: Partial<IdentitySettings> = { autoApproveReplies: true };
    for (const trigger of ["draft.created", "email.received"]) {
      const { rule, mail: receive, draft, becomes, rulesApplied, get } = await world(settings);
      const manual = await rule(trigger, [{ type: "set_approval_mode", mode: "manual" }], { name: "Careful" });
      const submitted = await draft(await receive());
      expect(submitted, "at once").to.deep.include({ status: "approved", auto_approved: true });
      await becomes(submitted.id, "pending");
      await rulesApplied(submitted.id);
      const { data } = await get(`/v1/drafts/${submitted.id}/history?limit=100`);
      expect(
        data.map((event: any) => event.type),
        trigger,
      ).to.not.include.members(["DraftQueued"]);
      const returned = data.find((event: any) => event.type === "DraftReturnedToPending");
      expect(returned.actor).to.deep.include({ kind: "rule", id: manual.id, name: "Careful" });
      expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("draft_pending");
    }
  });

  it("let an auto-approved draft go once they have run, with or without any [3 (none) -> approved] [6 draft.approved]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await world({ autoApproveReplies: true });
    const first = await draft(await receive());
    await becomes(first.id, "sent");
    const approved = await rule("draft.approved", []);
    const second = await draft(await receive({ subject: "Second" }));
    await becomes(second.id, "sent");
    expect((await settled(approved)).draft_id).to.equal(second.id);
    const { data } = await get(`/v1/drafts/${second.id}/history?limit=100`);
    const types = data.map((event: any) => event.type);
    expect(types.indexOf("DraftRulesApplied")).to.be.lessThan(types.indexOf("DraftQueued"));
  });

  it("approve nothing for an identity that requires a person, also where that came later [d2 require_human_approval]", async () => {
    const { rule, mail: receive, draft, settled, status, id, identity } = await world();
    const skip = await rule("draft.created", [{ type: "skip_approval" }]);
    const received = await receive();
    const update = {
      workspaceId: id,
      identityId: identity.id,
      changes: { requireHumanApproval: true },
      mayLoosen: true,
    };
    await updateIdentity(service.deps, update, operator(id));
    const submitted = await draft(received);
    const [action] = (await settled(skip)).actions;
    expect(action).to.deep.equal({
      ...{ type: "skip_approval", outcome: "suppressed" },
      reason: "this identity requires human approval",
    });
    expect(await status(submitted.id)).to.equal("pending");
  });

  it("run when a draft goes stale, and cannot approve it any more [6 draft.stale]", async () => {
    const { rule, mail: receive, draft, ask, settled, get } = await world();
    const stale = await rule("draft.stale", [
      { type: "skip_approval" },
      { type: "set_thread_status", status: "waiting" },
    ]);
    const received = await receive();
    const submitted = await draft(received);
    await receive({ inReplyTo: received.rfcId, text: "One more thing" });
    expect((await ask(`POST /v1/drafts/${submitted.id}/send`)).json.error).to.equal("stale_draft");
    const [skip, set] = (await settled(stale)).actions;
    expect(skip).to.deep.include({ outcome: "refused", reason: "a draft that is stale cannot be approved" });
    expect(set.outcome).to.equal("done");
    await service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("waiting");
  });

  it("tell people by mail, and say what cannot be reached yet [4 action notify_channel]", async () => {
    const { rule, mail: receive, settled } = await world();
    const to = `lead-${randomUUID()}@example.com`;
    const told = await rule("email.received", [
      { type: "notify_channel", channel: "email", config: { to } },
      { type: "notify_channel", channel: "telegram", config: { bot_token: "1:a", chat_id: "2" } },
    ]);
    await receive({ subject: "Help\u202e me" });
    const [mailed, chat] = (await settled(told)).actions;
    expect(mailed).to.deep.include({ outcome: "done" });
    expect(chat).to.deep.include({
      outcome: "refused",
      reason: "this installation cannot reach telegram channels yet",
    });
    const mails = (await service.outbox.newest(100)).filter((caught) => caught.envelope.to.includes(to));
    expect(mails).to.have.length(1);
    const [caught] = mails;
    expect(caught?.from.address).to.equal("approvals@agents.localhost");
    expect(caught?.subject).to.equal("Rule: email.received");
    expect(caught?.text).to.contain("Help[U+202E] me").and.to.contain(ann);
  });

  it("keep working oldest first after a downgrade [d10 above the cap]", async () => {
    const { rule, mail: receive, settled, evaluations, id, get } = await world();
    const rules: any[] = [];
    for (let made = 0; made < 27; made++) rules.push(await rule("email.received", [], { priority: 100 - made }));
    await setPlan(service.deps, { workspaceId: id, plan: "pro", betaOverride: false }, operator(id));
    await receive();
    await settled(rules[0]);
    const counts = await Promise.all(rules.map(async (each) => (await evaluations(each)).length));
    expect(counts).to.deep.equal([...Array(25).fill(1), 0, 0]);
    expect((await get("/v1/rules")).total, "all are readable").to.equal(27);
  });

  it("run on what the provider confirmed [6 email.delivered]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await world({ autoApproveReplies: true });
    const delivered = await rule("email.delivered", [{ type: "set_thread_status", status: "closed" }], {
      conditions: when("message.to_emails", ann),
    });
    const submitted = await draft(await receive());
    await becomes(submitted.id, "sent");
    await confirmDelivery(submitted.id);
    expect(await settled(delivered)).to.deep.include({ matched: true, draft_id: submitted.id });
    await service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("closed");
  });

  const eventsOf = async (stream: string, type: string) =>
    (await service.deps.store.read(stream)).filter((event) => event.type === type);

  /** More instances of the process, each with a memory of its own; none records an evaluation before all want to. */
  const instances = (count: number) => {
    let waiting = count;
    let open = (): void => {};
    const all = new Promise<void>((resolve) => {
      open = resolve;
    });
    return Array.from({ length: count }, () => {
      const { clock, ids } = service.deps;
      const store: EventStore = {
        ...service.deps.store,
        async append(stream, revision, events, options) {
          if (events.some(({ type }) => type === "RulesEvaluated")) {
            waiting -= 1;
            if (waiting <= 0) open();
            await all;
          }
          return service.deps.store.append(stream, revision, events, options);
        },
      };
      const deps = { ...service.deps, ...createHandle({ store, clock, ids }) };
      return runRules(deps, createOutboxProvider(service.database));
    });
  };

  const context = {
    timers: { set: async () => {}, cancel: async () => {} },
    ...{ attempt: 1, signal: new AbortController().signal },
  };

  it("run once, on four instances at the same moment [races]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await world();
    const { thread, message } = await receive();
    const submitted = await draft({ thread, message });
    const [authenticated] = await eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    const [event] = await eventsOf(`draft-${submitted.id}`, "DraftSubmitted");
    await until(async () => (await eventsOf(`draft-${submitted.id}`, "DraftRulesApplied")).length > 0);
    // Only now are there any: the service's own process has been here already.
    const received = await rule("email.received", [{ type: "set_thread_status", status: "closed" }]);
    const created = await rule("draft.created", [
      { type: "skip_approval" },
      { type: "set_priority", priority: "high" },
    ]);
    await Promise.all(instances(4).map((process) => process.on.MessageAuthenticated?.(authenticated!, context)));
    await Promise.all(instances(4).map((process) => process.on.DraftSubmitted?.(event!, context)));
    await becomes(submitted.id, "sent");
    for (const each of [received, created]) {
      const { id, actions } = await settled(each);
      expect(actions.every((action: any) => action.outcome === "done")).to.equal(true);
      expect(await eventsOf(`ruleRun-${id}`, "RulesEvaluated")).to.have.length(1);
      expect(await eventsOf(`ruleRun-${id}`, "RuleActionTaken")).to.have.length(actions.length);
    }
    for (const type of ["DraftApproved", "DraftRulesApplied", "DraftQueued"]) {
      expect(await eventsOf(`draft-${submitted.id}`, type), type).to.have.length(1);
    }
    const { data } = await get(`/v1/threads?identity_id=${submitted.identity_id}`);
    expect(data[0].priority).to.equal("high");
    expect(await eventsOf(`thread-${thread.id}`, "ThreadPrioritySet")).to.have.length(1);
  });

  it("run once, however often their event comes", async () => {
    const { rule, mail: receive, settled } = await world();
    const to = `lead-${randomUUID()}@example.com`;
    const notify = { type: "notify_channel", channel: "email", config: { to } };
    const received = await rule("email.received", [notify]);
    const { thread } = await receive();
    await settled(received);
    const [authenticated] = await eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    for (const process of instances(2)) await process.on.MessageAuthenticated?.(authenticated!, context);
    await settled(received);
    const told = (await service.outbox.newest(200)).filter((caught) => caught.envelope.to.includes(to));
    expect(told).to.have.length(1);
  });

  it("try again to tell somebody whom the provider did not reach [4 notify_channel] [4 GET /v1/rules/{id}/evaluations]", async () => {
    const { rule, mail: receive, evaluations, get } = await world();
    const { thread } = await receive();
    const [authenticated] = await eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    const to = `lead-${randomUUID()}@example.com`;
    const told = await rule("email.received", [
      { type: "notify_channel", channel: "email", config: { to } },
      { type: "set_priority", priority: "low" },
    ]);
    await rule("email.received", [], { conditions: when("message.subject", "Other") });
    const working = createOutboxProvider(service.database);
    let away = true;
    const connect = () => (away ? Promise.reject(new Error("the relay is away")) : working.connect());
    const process = runRules(service.deps, { ...working, connect });
    const set: Timer[] = [];
    const timers = {
      ...context.timers,
      set: async (key: string, name: string, dueAt: Date, payload = {}) => void set.push({ key, name, dueAt, payload }),
    };
    await process.on.MessageAuthenticated?.(authenticated!, { ...context, timers });
    await service.caughtUp();
    const outcomes = async () =>
      (await evaluations(told))[0].actions.map((action: any) => [action.outcome, action.reason]);
    expect(await outcomes()).to.deep.equal([
      ["failed", "the relay is away"],
      ["done", null],
    ]);
    expect(set).to.have.length(1);
    away = false;
    for (const timer of [set[0]!, set[0]!]) await process.onTimer?.(timer, { ...context, timers });
    await service.caughtUp();
    expect(await outcomes()).to.deep.equal([
      ["done", null],
      ["done", null],
    ]);
    const mails = (await service.outbox.newest(200)).filter((caught) => caught.envelope.to.includes(to));
    expect(mails).to.have.length(1);
    const matched = async (value: boolean) => (await get(`/v1/rules/${told.id}/evaluations?matched=${value}`)).total;
    expect([await matched(true), await matched(false)]).to.deep.equal([1, 0]);
  });

  it("do again nothing that a person has changed since", async () => {
    const { rule, mail: receive, settled, ask, get } = await world();
    const close = await rule("email.received", [{ type: "set_thread_status", status: "closed" }]);
    const { thread, message } = await receive();
    const evaluation = await settled(close);
    await ask(`PATCH /v1/threads/${thread.id}`, { json: { status: "open" } });
    const { state: run } = await service.deps.load(ruleRunDecider, ruleRunStream(receivedRunId(message.id)));
    const planned = run.evaluated?.results[0];
    const because = { ...operator(run.evaluated!.workspaceId), causationId: evaluation.trigger_event_id };
    const again = { run, runId: evaluation.id, rule: planned!, index: 0 };
    const taken = await takeAction(service.deps, createOutboxProvider(service.database), again, because);
    expect(taken.outcome).to.equal("done");
    await service.caughtUp();
    expect((await get(`/v1/threads/${thread.id}`)).status).to.equal("open");
  });

  it("never set themselves in motion again about the same draft [no loops]", async () => {
    const { rule, mail: receive, draft, settled, id } = await world();
    const noted = await rule("draft.created", [{ type: "set_priority", priority: "high" }]);
    const submitted = await draft(await receive());
    const evaluation = await settled(noted);
    const [event] = await eventsOf(`draft-${submitted.id}`, "DraftSubmitted");
    const { about, trigger } = await lookAlike(submitted.id, event!, id);
    const run = await evaluateRules(service.deps, trigger, about, causedBy(event!, "test"));
    expect(run?.evaluated?.results[0]?.actions[0]?.suppressed).to.contain("already ran here");
    const other = { ...causedBy(event!, "test"), correlationId: randomUUID() };
    const free = await evaluateRules(service.deps, { ...trigger, runId: randomUUID() }, about, other);
    expect(free?.evaluated?.results[0]?.actions[0]?.suppressed, "of another cause").to.equal(null);
    expect(evaluation.matched).to.equal(true);
  });

  /** The same trigger once more under another run, as if an action had caused it. */
  async function lookAlike(draftId: string, event: Recorded, workspaceId: string) {
    const { state } = await service.deps.load(draftDecider, draftStream(draftId));
    const about = () => aboutDraft(service.deps, "draft.created", draftId, state);
    const trigger = { trigger: "draft.created", runId: randomUUID(), triggerEventId: event.id, workspaceId } as const;
    return { about, trigger: { ...trigger, proven: true } };
  }

  /** Where nobody has confirmed it yet. */
  async function confirmDelivery(draftId: string): Promise<void> {
    const { state } = await service.deps.load(draftDecider, draftStream(draftId));
    const stream = deliveryStream(state.attemptId as string);
    if ((await eventsOf(stream, "DeliveryDelivered")).length > 0) return;
    const last = await service.deps.store.readLast(stream);
    const data = { draftId, threadId: state.threadId, messageId: state.messageId, evidence: "test" };
    const metadata = { ...operator(state.workspaceId), at: new Date().toISOString() };
    const delivered = { id: randomUUID(), type: "DeliveryDelivered", data, metadata };
    await service.deps.store.append(stream, last!.revision, [delivered]).catch(() => undefined);
  }
});
