import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createAssistant } from "#src/commands/assistants.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { operator } from "#test/support/cause.ts";
import { authentication } from "#test/support/examples/index.ts";
import { type InProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { worksInThreads } from "#test/support/sharedThreads.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

const minimal = { name: "Rule", trigger_event: "email.received" };

describe("rules over HTTP", () => {
  let service: InProcess;
  let ours: StoryTenant;
  let theirs: Workspace;

  before(async () => {
    ({ service, tenant: ours } = await startStory());
    theirs = await service.workspace();
  });
  after(() => service?.stop());

  const create = async (json: object, { ask }: Pick<Workspace, "ask"> = ours) => {
    const { status, json: rule } = await ask("POST /v1/rules", { json: { ...minimal, ...json } });
    expect(status, JSON.stringify(rule)).to.equal(200);
    return rule;
  };
  const plan = (workspaceId: string, name: "builder_pack" | "pro" | "agency", betaOverride = false) =>
    setPlan(service.deps, { workspaceId, plan: name, betaOverride }, operator(workspaceId));

  it("a new rule has the contract's defaults [4 POST /v1/rules] [4 GET /v1/rules/{id}] [2 Rule]", async () => {
    const rule = await create({});
    expect(rule).to.deep.include({
      ...{ workspace_id: ours.id, version: 1, name: "Rule", trigger_event: "email.received" },
      ...{ conditions: {}, actions: [], status: "active", priority: 100, stop_after_match: false },
      ...{ identity_id: null, assistant_id: null },
    });
    expect((await ours.ask(`GET /v1/rules/${rule.id}`)).json).to.deep.equal(rule);
  });

  it("a rule keeps every given field, with any trigger", async () => {
    const made = await createAssistant(
      service.deps,
      { workspaceId: ours.id, name: "A", description: null, status: "active" } as never,
      operator(ours.id),
    );
    await service.caughtUp();
    for (const trigger of ["email.sent", "email.delivered", "draft.sent"]) {
      const given = {
        ...{ name: trigger, trigger_event: trigger, status: "inactive", priority: -5, stop_after_match: true },
        conditions: {
          operator: "OR",
          conditions: [
            { field: "message.to_emails", op: "equals", value: "ann@customer.example" },
            { operator: "AND", conditions: [{ field: "message.subject", op: "in", value: ["a", "b"] }] },
          ],
        },
        actions: [{ type: "set_thread_status", status: "closed" }, { type: "skip_approval" }],
        ...{ identity_id: ours.identity.id, assistant_id: made.assistantId },
      };
      expect(await create(given)).to.deep.include(given);
    }
  });

  it("rules are listed by ascending priority, then id, and by filter [4 GET /v1/rules]", async () => {
    const tenant = await service.workspace();
    for (const [priority, trigger_event, status] of [
      [20, "draft.created", "active"],
      [10, "email.received", "inactive"],
      [20, "email.received", "active"],
      [5, "draft.created", "inactive"],
      [20, "draft.stale", "active"],
    ] as const) {
      await create({ priority, trigger_event, status }, tenant);
    }
    const list = async (query = "") => (await tenant.ask(`GET /v1/rules${query}`)).json;
    const all = await list();
    expect(all).to.deep.include({ total: 5, limit: 20, offset: 0 });
    const order = all.data.map((rule: any) => [rule.priority, rule.id]);
    const sorted = [...order].sort(([p, a], [q, b]) => p - q || (a < b ? -1 : 1));
    expect(order).to.deep.equal(sorted);
    expect((await list("?limit=2&offset=1")).data).to.deep.equal(all.data.slice(1, 3));
    expect((await list("?trigger_event=draft.created")).total).to.equal(2);
    expect((await list("?trigger_event=draft.created&status=active")).total).to.equal(1);
    expect((await tenant.ask("GET /v1/rules?status=on")).json.message).to.match(/^status: expected one of active/);
    expect((await tenant.ask("GET /v1/rules?trigger_event=x")).json.error).to.equal("invalid_request");
    expect((await theirs.ask("GET /v1/rules")).json.total).to.equal(0);
  });

  it("a changed rule keeps the fields that were not given, and is validated as a whole [4 PATCH /v1/rules/{rule_id}] [3 rule status]", async () => {
    const leaf = { field: "message.from_email", op: "equals", value: "a@b.example" };
    const rule = await create({ conditions: { operator: "AND", conditions: [leaf] } });
    const patch = (json: object) => ours.ask(`PATCH /v1/rules/${rule.id}`, { json });
    const changed = (await patch({ status: "inactive", priority: 3, name: "New" })).json;
    expect(changed).to.deep.include({
      status: "inactive",
      priority: 3,
      name: "New",
      version: 2,
      trigger_event: "email.received",
    });
    expect(changed.conditions).to.deep.equal(rule.conditions);
    const refused = await patch({ trigger_event: "draft.created" });
    expect(refused.outcome).to.equal("422 invalid_request");
    expect(refused.json.message).to.match(/^conditions\.conditions\[0\]\.field: expected one of/);
    expect((await patch({ trigger_event: "draft.created", conditions: {} })).json.version).to.equal(3);
    expect((await patch({ priority: 3 })).json.version, "nothing changed").to.equal(3);
    expect((await patch({ trigger_event: "x" })).json.error).to.equal("validation");
    expect((await patch({ name: null })).json.message).to.match(/^name: expected/);
  });

  it("a deleted rule is not found any more [4 DELETE /v1/rules/{id}]", async () => {
    const rule = await create({});
    const { status, json } = await ours.ask(`DELETE /v1/rules/${rule.id}`);
    expect([status, json]).to.deep.equal([200, { id: rule.id, deleted: true }]);
    for (const line of ["GET", "DELETE", "PATCH"]) {
      expect((await ours.ask(`${line} /v1/rules/${rule.id}`)).status, line).to.equal(404);
    }
    expect((await ours.ask(`GET /v1/rules/${rule.id}/evaluations`)).status).to.equal(404);
  });

  it("another workspace's rule is not found, nor its identity or assistant as a rule's limit [7 404 not_found]", async () => {
    const rule = await create({});
    for (const line of ["GET", "PATCH", "DELETE"]) {
      const answer = await theirs.ask(`${line} /v1/rules/${rule.id}`, line === "PATCH" ? { json: { name: "x" } } : {});
      expect(answer.outcome, line).to.equal("404 not_found");
    }
    expect((await theirs.ask(`GET /v1/rules/${rule.id}/evaluations`)).status).to.equal(404);
    for (const [field, value] of [
      ["identity_id", ours.identity.id],
      ["identity_id", randomUUID()],
      ["assistant_id", randomUUID()],
    ] as const) {
      const answer = await theirs.ask("POST /v1/rules", { json: { ...minimal, [field]: value } });
      expect([answer.outcome, answer.json.field]).to.deep.equal(["404 not_found", field]);
      const tried = await theirs.ask("POST /v1/rules/test", { json: { rule: { ...minimal, [field]: value } } });
      expect([tried.status, tried.json.field]).to.deep.equal([404, `rule.${field}`]);
    }
  });

  const bytes = (size: number) => {
    const tree = (value: string) => ({
      operator: "AND",
      conditions: [{ field: "message.subject", op: "equals", value }],
    });
    return tree("x".repeat(size - JSON.stringify(tree("")).length));
  };
  const tags = (size: number) => {
    const list = Array.from({ length: 200 }, () => ({ type: "add_tag", tag: "x" }));
    let short = size - JSON.stringify(list).length;
    for (const action of list) {
      const more = Math.min(short, 63);
      action.tag += "x".repeat(more);
      short -= more;
    }
    return list;
  };

  it("a rule with an unknown trigger or over 10 KB is refused as validation, other faults as invalid_request [7 422 validation] [8 rule conditions and actions]", async () => {
    const answer = async (json: object) => {
      const { status, json: body } = await ours.ask("POST /v1/rules", { json: { ...minimal, ...json } });
      return status === 200 ? "200" : `${status} ${body.error} ${body.message}`;
    };
    expect(await answer({ trigger_event: "email.opened" })).to.match(/^422 validation trigger_event: expected one of/);
    expect(await answer({ trigger_event: "Email.Received" })).to.match(/^422 validation/);
    expect(await answer({ trigger_event: 7 })).to.match(/^422 invalid_request trigger_event: expected a string/);
    expect(await answer({ conditions: bytes(10_240) })).to.equal("200");
    expect(await answer({ conditions: bytes(10_241) })).to.match(
      /^422 validation conditions: expected at most 10240 bytes/,
    );
    expect(await answer({ actions: tags(10_240) })).to.equal("200");
    expect(await answer({ actions: tags(10_241) })).to.match(/^422 validation actions: expected at most 10240 bytes/);
    expect(await answer({ conditions: "x".repeat(11_000) })).to.match(
      /^422 invalid_request conditions: expected an object/,
    );
    expect(await answer({ conditions: [] })).to.match(/^422 invalid_request conditions: expected an object/);
    expect(await answer({ actions: {} })).to.match(/^422 invalid_request actions: expected an array/);
    expect(await answer({ actions: [{ type: "fly" }] })).to.match(
      /^422 invalid_request actions\[0\]\.type: expected one of/,
    );
    expect(await answer({ name: undefined })).to.match(/^422 invalid_request name: required/);
    expect(await answer({ name: "a\r\nb" })).to.match(/^422 invalid_request name: expected text without line breaks/);
    expect(await answer({ priority: 1.5 })).to.match(/^422 invalid_request priority: expected an integer/);
    expect(await answer({ color: 1 })).to.match(/^422 invalid_request color: unknown field/);
    const tried = await ours.ask("POST /v1/rules/test", { json: { rule: { ...minimal, trigger_event: "x" } } });
    expect(tried.json.message).to.match(/^rule\.trigger_event: expected one of/);
  });

  it("the secrets of a rule's actions are stored sealed and shown masked [d7 secrets]", async () => {
    const telegram = {
      type: "notify_channel",
      channel: "telegram",
      config: { bot_token: "12345:secret-token-of-a-telegram-bot", chat_id: "7" },
    };
    const rule = await create({ actions: [telegram] });
    const masked = { ...telegram, config: { bot_token: "****-bot", chat_id: "7" } };
    expect(rule.actions).to.deep.equal([masked]);
    const { rows } = await service.database.owner.query(
      "select data::text as data from es.events where type = 'RuleCreated'",
    );
    expect(rows.some(({ data }: any) => data.includes("secret-token"))).to.equal(false);
    const patch = (actions: object[]) => ours.ask(`PATCH /v1/rules/${rule.id}`, { json: { actions } });
    expect((await patch([masked])).json.version, "the shown value keeps the stored one").to.equal(1);
    const other = { ...masked, config: { ...masked.config, bot_token: "****nope" } };
    expect((await patch([other])).json.message).to.match(/^actions\[0\]\.config\.bot_token:/);
    const noToken = { ...telegram, config: { bot_token: "12345:short/../x", chat_id: "7" } };
    expect((await patch([noToken])).json.message).to.match(/^actions\[0\]\.config\.bot_token: expected the token that/);
    const topic = { ...masked, config: { ...masked.config, chat_id: "-100123:17" } };
    expect((await patch([topic])).json.message).to.match(/^actions\[0\]\.config\.chat_id: expected the chat's number/);
    const slack = { type: "notify_channel", channel: "slack", config: { webhook_url: "https://evil.example/x" } };
    expect((await patch([slack])).json.message).to.match(
      /^actions\[0\]\.config\.webhook_url: expected an https:\/\/ URL on /,
    );
    const to = ours.identity.address.toUpperCase();
    const inside = { type: "notify_channel", channel: "email", config: { to } };
    expect((await patch([masked, inside])).json.message).to.match(
      /^actions\[1\]\.config\.to: this address is hosted by this service/,
    );
  });

  it("rules are limited by the plan, also when made in parallel [7 402 plan_limit_reached] [8 rules] [8 beta_override]", async () => {
    const tenant = await service.workspace();
    await plan(tenant.id, "builder_pack");
    const none = await tenant.ask("POST /v1/rules", { json: minimal });
    expect(none.outcome).to.equal("402 plan_limit_reached");
    expect(none.json.upgrade_url).to.be.a("string");
    await plan(tenant.id, "pro");
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => tenant.ask("POST /v1/rules", { json: { ...minimal, status: "inactive" } })),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(25);
    expect(answers.filter(({ status }) => status === 402)).to.have.length(15);
    const made = answers.find(({ status }) => status === 200)?.json.id;
    expect((await tenant.ask(`DELETE /v1/rules/${made}`)).status).to.equal(200);
    expect((await tenant.ask("POST /v1/rules", { json: minimal })).status).to.equal(200);
    expect((await tenant.ask("POST /v1/rules", { json: minimal })).status).to.equal(402);
    await plan(tenant.id, "pro", true);
    expect((await tenant.ask("POST /v1/rules", { json: minimal })).status, "beta_override").to.equal(200);
  });

  it("rules need read:rules to be read and tested, and write:rules to be changed [5 scopes]", async () => {
    const rule = await create({});
    const reader = await ours.keyOf(["read:rules"]);
    const writer = await ours.keyOf(["write:rules"]);
    const reads = [`GET /v1/rules`, `GET /v1/rules/${rule.id}`, `GET /v1/rules/${rule.id}/evaluations`];
    for (const line of reads) {
      expect((await ours.ask(line, { key: reader })).status, line).to.equal(200);
      expect((await ours.ask(line, { key: writer })).json.error, line).to.equal("insufficient_scope");
    }
    const json = { rule: minimal };
    expect((await ours.ask("POST /v1/rules/test", { key: reader, json })).status).to.equal(200);
    expect((await ours.ask("POST /v1/rules", { key: reader, json: minimal })).json.error).to.equal(
      "insufficient_scope",
    );
    expect((await ours.ask(`DELETE /v1/rules/${rule.id}`, { key: reader })).json.error).to.equal("insufficient_scope");
    expect((await ours.ask("POST /v1/rules", { key: writer, json: minimal })).status).to.equal(200);
  });

  it("a back-test evaluates a rule on past events and changes nothing [d9 POST /v1/rules/test] [d9 back-test]", async () => {
    const tenant = await openTenant(service);
    for (const [index, subject] of ["My order", "Hello"].entries()) {
      await tenant.mail({ subject });
      await until(async () => (await tenant.ask("GET /v1/events?types=email.received")).json.data.length === index + 1);
    }
    const rule = {
      ...minimal,
      conditions: { operator: "AND", conditions: [{ field: "message.subject", op: "contains", value: "ORDER" }] },
      actions: [{ type: "set_thread_status", status: "closed" }, { type: "skip_approval" }],
    };
    const attempt = async (json: object) => (await tenant.ask("POST /v1/rules/test", { json })).json;
    const tried = await attempt({ rule });
    expect([tried.evaluated, tried.matched]).to.deep.equal([2, 1]);
    expect(tried.results.map((result: any) => result.matched)).to.deep.equal([false, true]);
    expect(tried.results[1].actions).to.deep.equal([
      { type: "set_thread_status", outcome: "would_run", reason: null },
      { type: "skip_approval", outcome: "suppressed", reason: "there is no draft yet: use set_approval_mode" },
    ]);
    expect((await attempt({ rule, since: "2100-01-01" })).evaluated).to.equal(0);
    expect((await attempt({ rule: { ...rule, trigger_event: "draft.created", conditions: {} } })).evaluated).to.equal(
      0,
    );
    const threads = (await tenant.ask("GET /v1/threads")).json.data;
    expect(threads.map((thread: any) => thread.status)).to.deep.equal(["open", "open"]);
    expect((await tenant.ask("GET /v1/rules")).json.total).to.equal(0);
    expect((await theirs.ask("POST /v1/rules/test", { json: { rule } })).json.evaluated).to.equal(0);
    const all = { ...minimal, trigger_event: "email.received" };
    for (const trigger_event of ["email.sent", "email.delivered", "draft.approved", "draft.sent", "draft.stale"]) {
      expect((await attempt({ rule: { ...all, trigger_event } })).evaluated, trigger_event).to.equal(0);
    }
  });

  it("a rule on long text is evaluated in a worker thread, when mail arrives and in a back-test", async () => {
    const tenant = await openTenant(service);
    const conditions = {
      operator: "OR",
      conditions: Array.from({ length: 50 }, (_, n) => ({
        field: "message.body_text",
        op: n % 2 === 0 ? "contains" : "not_contains",
        value: `${"order ".repeat(12)}${n}`,
      })),
    };
    const rule = { ...minimal, conditions, actions: [{ type: "set_priority", priority: "high" }] };
    const deliver = async (text: string, priority: string) => {
      const events = "GET /v1/events?types=email.received";
      const { length } = (await tenant.ask(events)).json.data;
      await tenant.mail({ subject: "Hello", text });
      await until(async () => (await tenant.ask(events)).json.data.length > length);
      await service.caughtUp();
      const newest = async () => (await tenant.ask("GET /v1/threads?limit=1")).json.data[0];
      await until(async () => (await newest()).priority === priority);
    };
    await deliver("order ".repeat(20_000), "normal");
    const attempt = () => tenant.ask("POST /v1/rules/test", { json: { rule } });
    expect(await worksInThreads(attempt)).to.deep.equal(["searchText"]);
    expect((await attempt()).json).to.include({ evaluated: 1, matched: 1 });
    await create(rule, tenant);
    const other = { field: "message.subject", op: "equals", value: "Hello" };
    await create({ ...rule, conditions: { operator: "AND", conditions: [other] } }, tenant);
    expect(await worksInThreads(() => deliver("order ".repeat(20_000), "high"))).to.deep.equal(["searchText"]);
    expect(await worksInThreads(() => deliver("short", "high"))).to.deep.equal([]);
  });

  it("a rule warns if it lets a stranger's own text grant automatic approval [d14 grants]", async () => {
    const written = {
      conditions: { operator: "AND", conditions: [{ field: "thread.subject", op: "not_contains", value: "x" }] },
    };
    const grant = { actions: [{ type: "set_approval_mode", mode: "auto" }] };
    const warning = ["any sender who writes this is answered without a person's approval"];
    const who = {
      conditions: { operator: "AND", conditions: [{ field: "contact.status", op: "equals", value: "trusted" }] },
    };
    const rule = await create({ ...written, ...grant });
    expect(rule.warnings).to.deep.equal(warning);
    expect((await ours.ask(`GET /v1/rules/${rule.id}`)).json.warnings).to.deep.equal(warning);
    const patch = async (json: object) => (await ours.ask(`PATCH /v1/rules/${rule.id}`, { json })).json.warnings;
    expect(await patch(who)).to.deep.equal([]);
    expect(await patch(written)).to.deep.equal(warning);
    expect(await patch({ actions: [{ type: "set_approval_mode", mode: "manual" }] })).to.deep.equal([]);
    expect((await create(grant)).warnings).to.deep.equal([]);
  });

  it("a back-test suppresses an approval if a recipient is not covered, and names the recipient [d14 grants] [d9 back-test]", async () => {
    const tenant = await openTenant(service);
    const { authenticator } = service.deps;
    const { authenticate } = authenticator;
    authenticator.authenticate = async () => authentication();
    const mail = await tenant.mail();
    await until(async () => (await tenant.ask("GET /v1/events?types=email.received")).json.data.length === 1);
    authenticator.authenticate = authenticate;
    for (const cc of [[], ["eve@evil.example"]]) await tenant.draft(mail, { cc });
    await service.caughtUp();
    const who = { operator: "AND", conditions: [{ field: "contact.domain", op: "equals", value: "customer.example" }] };
    const written = { operator: "AND", conditions: [{ field: "thread.subject", op: "contains", value: "order" }] };
    for (const conditions of [who, written]) {
      const rule = { ...minimal, trigger_event: "draft.created", conditions, actions: [{ type: "skip_approval" }] };
      const { results } = (await tenant.ask("POST /v1/rules/test", { json: { rule } })).json;
      const [elsewhere, alone] = results.map(({ actions }: any) => actions[0]);
      expect(alone).to.deep.include({ outcome: "would_run", reason: null });
      expect(elsewhere.outcome).to.equal("suppressed");
      expect(elsewhere.reason).to.match(/^recipient_not_covered: .*eve@evil\.example/);
    }
  });

  it("a back-test evaluates the events that happened, whatever the drafts' status is now [d9 back-test]", async () => {
    const tenant = await openTenant(service);
    const mail = await tenant.mail();
    const [stale, taken] = [await tenant.draft(mail), await tenant.draft(mail)];
    await taken.approve();
    await taken.reject();
    const newer = await tenant.mail({ inReplyTo: mail });
    expect((await stale.ask("POST send")).status).to.equal(409);
    await stale.reject();
    expect((await (await tenant.draft(newer)).ask("POST send")).status).to.equal(202);
    const tried = async (trigger_event: string) => {
      const json = { rule: { ...minimal, trigger_event } };
      return (await tenant.ask("POST /v1/rules/test", { json })).json.results.map((result: any) => result.draft_id);
    };
    await service.caughtUp();
    expect(await tried("draft.stale"), "rejected since, as agents are told to").to.deep.equal([stale.id]);
    expect(await tried("draft.approved"), "approved, then rejected; one sent while pending is not").to.deep.equal([
      taken.id,
    ]);
  });
});
