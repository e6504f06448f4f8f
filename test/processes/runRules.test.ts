import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { unlinked } from "#src/channels/email/excerpt.ts";
import { updateIdentity } from "#src/commands/identities/identities.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { ann, claim, proof, trusted, useRules, when } from "./rulesWorld.ts";

describe("runRules", () => {
  const rules = useRules();

  it("a rule on received mail matches every field and changes thread and contact [6 email.received] [3 thread -> set_thread_status] [4 fields email.received] [4 action set_thread_status] [4 action add_tag] [4 action set_priority]", async () => {
    const { rule, mail: receive, identity, settled, get, contact } = await rules.world();
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
    await rules.service.caughtUp();
    expect(await get(`/v1/threads/${thread.id}`)).to.deep.include({ status: "closed", priority: "urgent" });
    const [known] = (await get("/v1/contacts")).data;
    expect(known.tags).to.deep.equal(["vip", "asked"]);
  });

  it("rules run in ascending priority, see earlier changes, and stop after a match that says so [4 rule evaluation] [d9 GET /v1/rules/{id}/evaluations] [d9 evaluations]", async () => {
    const { rule, mail: receive, settled, evaluations, get } = await rules.world();
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

  it("a rule runs only for its identity and its workspace", async () => {
    const one = await rules.world();
    const other = await rules.world();
    const elsewhere = await rules.service.identity(one.id);
    const limited = await one.rule("email.received", [], { identity_id: elsewhere.id });
    const own = await one.rule("email.received", [], { identity_id: one.identity.id });
    const foreign = await other.rule("email.received", []);
    await one.mail();
    await one.settled(own);
    expect(await one.evaluations(limited)).to.deep.equal([]);
    expect(await other.evaluations(foreign)).to.deep.equal([]);
  });

  it("no rule runs on mail of a blocked contact [d8 blocked]", async () => {
    const { rule, mail: receive, evaluations, contact, settled } = await rules.world();
    const every = await rule("email.received", []);
    await contact("blocked");
    await receive({ subject: "Blocked" });
    await contact("unknown");
    await receive({ subject: "Last" });
    await settled(every);
    expect(await evaluations(every)).to.have.length(1);
  });

  it("a rule approves a pending draft, which is queued and sent [3 pending -> approved by skip_approval] [4 action skip_approval] [6 draft.created] [6 draft.approved] [6 draft.sent] [6 email.sent] [d9 back-test]", async () => {
    const { rule, mail: receive, draft, becomes, settled, contact, identity, get, ask } = await rules.world();
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
    await rules.service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("closed");
    await rules.confirmDelivery(submitted.id);
    await rules.service.caughtUp();
    const past = ["draft.created", "draft.approved", "email.sent", "draft.sent", "email.delivered"];
    for (const trigger_event of past) {
      const tried = { name: "Try", trigger_event, conditions: trusted, actions: [{ type: "skip_approval" }] };
      const { json } = await ask("POST /v1/rules/test", { json: { rule: tried } });
      expect([json.evaluated, json.matched], trigger_event).to.deep.equal([1, 1]);
      expect(json.results[0].draft_id).to.equal(submitted.id);
    }
  });

  it("a rule approves nothing for an unproven sender, and its other actions are done [d8 grants]", async () => {
    rules.say(claim);
    const { rule, mail: receive, draft, status, settled, contact, get } = await rules.world();
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

  it("a rule waits for the sender's proof and then approves [d8 grants]", async () => {
    let know = (_: Authentication): void => {};
    rules.say(
      new Promise<Authentication>((resolve) => {
        know = resolve;
      }),
    );
    const { rule, mail: receive, draft, becomes, contact } = await rules.world();
    await contact("trusted");
    await rule("email.received", [{ type: "set_approval_mode", mode: "auto" }], { conditions: trusted });
    const submitted = await draft(await receive());
    expect(submitted.status).to.equal("pending");
    know(proof);
    await becomes(submitted.id, "sent");
  });

  it("a rule continues without a proof that does not arrive in time [d8 grants]", async () => {
    let know = (_: Authentication): void => {};
    rules.say(
      new Promise<Authentication>((resolve) => {
        know = resolve;
      }),
    );
    const { rule, mail: receive, draft, settled, contact, status, proofIsLate } = await rules.world();
    await contact("trusted");
    const skip = await rule("draft.created", [{ type: "skip_approval" }], { conditions: trusted });
    const submitted = await draft(await receive());
    await proofIsLate();
    const evaluation = await settled(skip);
    know(proof);
    expect(evaluation.actions[0].outcome).to.equal("suppressed");
    expect(await status(submitted.id)).to.equal("pending");
  });

  it("a rule on a message approves the next draft on it, and no further one [4 action set_approval_mode] [d9 set_approval_mode]", async () => {
    const { rule, mail: receive, draft, becomes, rulesApplied, status } = await rules.world();
    await rule("email.received", [{ type: "set_approval_mode", mode: "auto" }]);
    const received = await receive();
    const first = await draft(received);
    await becomes(first.id, "sent");
    const second = await draft(received);
    await rulesApplied(second.id);
    expect(await status(second.id)).to.equal("pending");
  });

  it("a rule on a message makes every draft on it pending; one that approves takes nothing from the setting [d14 grants]", async () => {
    for (const [mode, statuses] of [
      ["manual", ["pending", "pending"]],
      ["auto", ["sent", "sent"]],
    ] as const) {
      const {
        rule,
        mail: receive,
        draft,
        becomes,
        rulesApplied,
        get,
      } = await rules.world({ autoApproveReplies: true });
      await rule("email.received", [{ type: "set_approval_mode", mode }]);
      const received = await receive();
      for (const [index, status] of statuses.entries()) {
        const { id } = await draft(received);
        await rulesApplied(id);
        await becomes(id, status);
        const { data } = await get(`/v1/drafts/${id}/history?limit=100`);
        const wasQueued = data.some((event: any) => event.type === "DraftQueued");
        expect(wasQueued, `${mode}, draft ${index + 1}`).to.equal(status === "sent");
      }
    }
  });

  it("a rule takes back an automatic approval before the draft is sent [4 action set_approval_mode] [d9 set_approval_mode]", async () => {
    const settings: Partial<IdentitySettings> = { autoApproveReplies: true };
    for (const trigger of ["draft.created", "email.received"]) {
      const { rule, mail: receive, draft, becomes, rulesApplied, get } = await rules.world(settings);
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
      await until(async () => (await get(`/v1/threads/${submitted.thread_id}`)).status === "draft_pending");
    }
  });

  it("an automatically approved draft is sent after its rules ran, with or without any [3 (none) -> approved] [6 draft.approved]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await rules.world({ autoApproveReplies: true });
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

  it("a rule approves nothing for an identity that requires a person, also if that came later [d2 require_human_approval]", async () => {
    const { rule, mail: receive, draft, settled, status, id, identity } = await rules.world();
    const skip = await rule("draft.created", [{ type: "skip_approval" }]);
    const received = await receive();
    const update = {
      workspaceId: id,
      identityId: identity.id,
      changes: { requireHumanApproval: true },
      mayLoosen: true,
    };
    await updateIdentity(rules.service.deps, update, operator(id));
    const submitted = await draft(received);
    const [action] = (await settled(skip)).actions;
    expect(action).to.deep.equal({
      ...{ type: "skip_approval", outcome: "suppressed" },
      reason: "this identity requires human approval",
    });
    expect(await status(submitted.id)).to.equal("pending");
  });

  it("a rule on stale drafts runs and cannot approve the draft [6 draft.stale]", async () => {
    const { rule, mail: receive, draft, ask, settled, get } = await rules.world();
    const stale = await rule("draft.stale", [
      { type: "skip_approval" },
      { type: "set_thread_status", status: "waiting" },
    ]);
    const received = await receive();
    const submitted = await draft(received);
    await receive({ inReplyTo: received.rfcId, text: "One more thing" });
    expect((await ask(`POST /v1/drafts/${submitted.id}/send`)).json.error).to.equal("stale_draft");
    const [skip, set] = (await settled(stale)).actions;
    expect(skip).to.deep.include({
      outcome: "refused",
      reason: "a draft that is stale cannot be approved: expected pending",
    });
    expect(set.outcome).to.equal("done");
    await rules.service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("waiting");
  });

  it("a rule notifies people by mail, without strangers' words in the subject or links [4 action notify_channel]", async () => {
    const { rule, mail: receive, settled } = await rules.world();
    const to = `lead-${randomUUID()}@example.com`;
    const told = await rule("email.received", [{ type: "notify_channel", channel: "email", config: { to } }]);
    await receive({ subject: "Help\u202e me" });
    const [mailed] = (await settled(told)).actions;
    expect(mailed).to.deep.include({ outcome: "done" });
    const mails = (await rules.service.outbox.newest(100)).filter((caught) => caught.envelope.to.includes(to));
    expect(mails).to.have.length(1);
    const [caught] = mails;
    expect(caught?.from.address).to.equal("approvals@countersign.localhost");
    // The subject has no tenant's or stranger's words, and no address of theirs is a link.
    expect(caught?.subject).to.equal("A rule of your workspace matched");
    expect(caught?.text).to.contain("“Help[U+202E] me”").and.to.contain(unlinked(ann)).and.not.to.contain(ann);
  });

  it("after a downgrade the oldest rules keep running up to the plan's limit [d10 above the cap]", async () => {
    const { rule, mail: receive, settled, evaluations, id, get } = await rules.world();
    const made: any[] = [];
    for (let count = 0; count < 27; count++) made.push(await rule("email.received", [], { priority: 100 - count }));
    await setPlan(rules.service.deps, { workspaceId: id, plan: "pro", betaOverride: false }, operator(id));
    await receive();
    await settled(made[0]);
    const counts = await Promise.all(made.map(async (each) => (await evaluations(each)).length));
    expect(counts).to.deep.equal([...Array(25).fill(1), 0, 0]);
    expect((await get("/v1/rules")).total, "all are readable").to.equal(27);
  });

  it("a rule runs on mail that the provider reported as delivered [6 email.delivered]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await rules.world({ autoApproveReplies: true });
    const delivered = await rule("email.delivered", [{ type: "set_thread_status", status: "closed" }], {
      conditions: when("message.to_emails", ann),
    });
    const submitted = await draft(await receive());
    await becomes(submitted.id, "sent");
    await rules.confirmDelivery(submitted.id);
    expect(await settled(delivered)).to.deep.include({ matched: true, draft_id: submitted.id });
    await rules.service.caughtUp();
    expect((await get(`/v1/threads/${submitted.thread_id}`)).status).to.equal("closed");
  });
});
