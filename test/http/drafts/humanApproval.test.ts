import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { approvalView } from "#src/commands/approvals/approvalViews.ts";
import { createIdentity, deleteIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { allScopes, defaultScopes } from "#src/http/framework/keys/scopes.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("a workspace that requires human approval", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  /** The tenant with a key that may not approve. */
  let agent: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
    agent = tenant.withKey(await tenant.keyOf(allScopes.filter((scope) => scope !== "write:approvals")));
    const { json } = await agent.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: true } });
    expect(json.require_human_approval).to.equal(true);
  });
  after(() => service.stop());

  const approver = (to: string) => ({ type: "email", config: { to } }) as const;

  it("no key, setting or rule approves for an identity of a workspace that requires human approval, the newest included", async () => {
    const to = await tenant.newIdentity({ autoApproveReplies: true });
    const rule = { name: "All", trigger_event: "draft.created", actions: [{ type: "skip_approval" }] };
    const { json: made } = await agent.ask("POST /v1/rules", { json: rule });
    const mail = await tenant.mail({ to });
    const draft = await agent.draft(mail);
    expect(draft.json).to.include({ status: "pending", auto_approved: null });
    for (const verb of ["approve", "send"]) {
      const { outcome } = await draft.ask(`POST ${verb}`);
      expect(outcome, verb).to.equal("422 human_approval_required");
    }
    const replied = await agent.ask("POST /v1/emails/reply", { json: { thread_id: mail.threadId, body_text: "Hi" } });
    expect([replied.status, replied.json.status]).to.deep.equal([202, "pending"]);
    let found: any;
    await until(async () => {
      const { data } = (await agent.ask(`GET /v1/rules/${made.id}/evaluations`)).json;
      found = data.find((evaluation: any) => evaluation.draft_id === draft.id);
      return found !== undefined;
    });
    expect(found.actions[0]).to.include({ outcome: "suppressed", reason: "this identity requires human approval" });
    expect((await draft.read()).status).to.equal("pending");
    await agent.ask(`DELETE /v1/rules/${made.id}`);
  });

  it("a key without write:approvals cannot name approvers, make an identity with approvers, or turn human approval off", async () => {
    const domain = (await agent.ask("GET /v1/domains")).json.data[0].id;
    const create = { domain_id: domain, local_part: "own", display_name: "Own" };
    const channel = { approval_channel: approver("agent@own.example") };
    const refused = await agent.ask("POST /v1/identities", { json: { ...create, ...channel } });
    expect(refused.outcome).to.equal("401 insufficient_scope");
    const editing = await agent.ask("POST /v1/identities", { json: { ...create, edit_by_channel: true } });
    expect(editing.outcome).to.equal("401 insufficient_scope");
    const plain = await agent.ask("POST /v1/identities", { json: create });
    expect(plain.status).to.equal(201);
    for (const [line, json] of [
      [`PATCH /v1/identities/${plain.json.id}`, channel],
      [`PATCH /v1/identities/${plain.json.id}`, { covered_recipients: ["eve@x.example"] }],
      [`PATCH /v1/identities/${plain.json.id}`, { reply_to_email: "eve@x.example" }],
      [`PATCH /v1/identities/${plain.json.id}`, { display_name: "Your bank" }],
      [`PATCH /v1/identities/${plain.json.id}`, { send_on_channel_approval: false }],
      [`PATCH /v1/identities/${plain.json.id}`, { edit_by_channel: true }],
      [`DELETE /v1/identities/${plain.json.id}`, undefined],
      ["PATCH /v1/workspaces/me", { require_human_approval: false }],
    ] as const) {
      const { outcome } = await agent.ask(line, { json });
      expect(outcome, line).to.equal("401 insufficient_scope");
    }
    const named = await tenant.ask(`PATCH /v1/identities/${plain.json.id}`, { json: channel });
    expect(named.status).to.equal(200);
  });

  it("an agent's key that its owner made without naming scopes cannot avoid human approval", async () => {
    const owner = tenant.ask;
    const { json: made } = await owner("POST /v1/api-keys", {
      json: { name: "agent" },
      headers: { "Idempotency-Key": "the agent's" },
    });
    const ask: StoryTenant["ask"] = (line, options) => owner(line, { key: made.key, ...options });
    expect(made.scopes).to.have.members(defaultScopes(allScopes)).and.not.include.members(["write:approvals"]);

    // The agent's key can create no key with any scopes, and cannot read a key that was issued to another.
    for (const scopes of [undefined, [], ["write:approvals"], ["*"], ["write:*"], null]) {
      const { outcome } = await ask("POST /v1/api-keys", { json: { name: "mine", scopes } });
      expect(outcome, JSON.stringify(scopes)).to.equal("401 insufficient_scope");
    }
    const keeper = await owner("POST /v1/api-keys", { json: { name: "keeper", scopes: ["write:keys", "read:keys"] } });
    const byKeeper = (json: object, headers = {}) =>
      owner("POST /v1/api-keys", { key: keeper.json.key, json, headers });
    for (const scopes of [["write:approvals"], ["read:keys", "write:approvals"], ["write:keys", "write:identities"]]) {
      const { status, json } = await byKeeper({ name: "more", scopes });
      expect([status, json.error, json.field]).to.deep.equal([422, "invalid_request", "scopes"]);
    }
    for (const scopes of [["WRITE:APPROVALS"], ["write:approvals "], ["*"], ["__proto__"], "write:keys", null]) {
      const { outcome } = await byKeeper({ name: "odd", scopes });
      expect(outcome, JSON.stringify(scopes)).to.equal("422 invalid_request");
    }
    expect((await byKeeper({ name: "less" })).json.scopes).to.deep.equal(["read:keys"]);
    const repeated = await byKeeper({ name: "agent" }, { "Idempotency-Key": "the agent's" });
    expect(repeated.outcome).to.equal("422 idempotency_mismatch");

    // The agent's key can create identities; human approval applies to each of them.
    const domain_id = (await ask("GET /v1/domains")).json.data[0].id;
    const loose = {
      ...{ domain_id, local_part: "loose", display_name: "Loose", can_send_cold: true },
      ...{ auto_approve_replies: true, require_human_approval: false, send_on_channel_approval: true },
    };
    const named = [
      { approval_channel: approver("agent@own.example") },
      { secondary_approval_channel: approver("agent@own.example") },
      { covered_recipients: ["eve@x.example"] },
      { reply_to_email: "eve@x.example" },
    ];
    for (const channel of named) {
      const { outcome } = await ask("POST /v1/identities", { json: { ...loose, ...channel } });
      expect(outcome, JSON.stringify(channel)).to.equal("401 insufficient_scope");
    }
    const own = (await ask("POST /v1/identities", { json: loose })).json;
    const off = [{ require_human_approval: false }, { require_human_approval: false, name: "Ours" }];
    for (const [line, json] of [
      ...named.map((channel) => [`PATCH /v1/identities/${own.id}`, channel] as const),
      ...off.map((changes) => ["PATCH /v1/workspaces/me", changes] as const),
      [`DELETE /v1/identities/${own.id}`, undefined] as const,
    ]) {
      const { outcome } = await ask(line, { json });
      expect(outcome, `${line} ${JSON.stringify(json)}`).to.equal("401 insufficient_scope");
    }
    const mailed = { identity_id: own.id, to: ["ann@customer.example"], subject: "Hello", body_text: "Hello" };
    const sent = await ask("POST /v1/emails/send", { json: mailed });
    expect([sent.status, sent.json.status]).to.deep.equal([202, "pending"]);
    for (const verb of ["approve", "send"]) {
      const { outcome } = await ask(`POST /v1/drafts/${sent.json.draft_id}/${verb}`);
      expect(outcome, verb).to.equal("422 human_approval_required");
    }
    expect((await owner("GET /v1/workspaces/me")).json).to.include({ require_human_approval: true, name: "Test" });
  });

  it("approvers are warned of a Reply-To that is no address of the workspace", async () => {
    const { identity } = tenant;
    const { id: stranger } = await service.workspace();
    const theirs = await service.identity(stranger);
    const draft = await agent.draft(await tenant.mail());
    const warned = async (reply_to_email: string | null) => {
      const changed = await tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { reply_to_email } });
      expect(changed.status, changed.text).to.equal(200);
      let view: ApprovalView | undefined;
      await until(async () => {
        const { state } = await service.deps.drafts.load(draft.id);
        const expiresAt = new Date().toISOString();
        view = await approvalView(service.deps, { draftId: draft.id, draft: state, version: state.version, expiresAt });
        return view.content.reply_to === reply_to_email;
      });
      return reviewCard(view!).warnings.filter((warning) => warning.startsWith("Replies to it will not arrive here"));
    };
    const own = identity.address.replace("@", "+more@");
    for (const address of ["eve@x.example", theirs.address, own, null]) {
      const isElsewhere = address === "eve@x.example" || address === theirs.address;
      const sentence = `Replies to it will not arrive here: they go to ${address}, which is not an address of this workspace.`;
      expect(await warned(address), String(address)).to.deep.equal(isElsewhere ? [sentence] : []);
    }
  });

  describe("human approval that is turned on while a change is under way", () => {
    /** The service's commands for a caller who reads the workspace right before human approval is turned on. */
    async function overtaken() {
      const { id: workspaceId } = await service.workspace();
      const identity = await service.identity(workspaceId, { approvalChannel: approver("boss@x.example") });
      let turned = false;
      const { workspaces } = service.deps;
      const load: typeof workspaces.load = async (id) => {
        const loaded = await workspaces.load(id);
        if (!turned) {
          turned = true;
          await updateWorkspace(service.deps, { workspaceId, requireHumanApproval: true }, operator(workspaceId));
        }
        return loaded;
      };
      return { workspaceId, identity, deps: { ...service.deps, workspaces: { ...workspaces, load } } };
    }
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => "done",
        ({ code }) => code,
      );
    const channel = { approvalChannel: approver("agent@own.example") };

    it("human approval that is turned on during a change of an identity's channel refuses the change", async () => {
      const { workspaceId, identity, deps } = await overtaken();
      const change = { workspaceId, identityId: identity.id, changes: channel, mayLoosen: false };
      expect(await refusal(updateIdentity(deps, change, operator(workspaceId)))).to.equal("insufficient_scope");
      const { state } = await deps.identities.load(identity.id);
      expect(state.approvalChannel).to.deep.equal(approver("boss@x.example"));
    });

    it("human approval that is turned on during the deletion of an identity refuses the deletion", async () => {
      const { workspaceId, identity, deps } = await overtaken();
      const deletion = { workspaceId, identityId: identity.id, mayLoosen: false };
      expect(await refusal(deleteIdentity(deps, deletion, operator(workspaceId)))).to.equal("insufficient_scope");
    });

    it("human approval that is turned on while an identity is made refuses its approvers", async () => {
      const { workspaceId, deps } = await overtaken();
      const domainId = sandboxDomainId(workspaceId);
      const wanted = { workspaceId, domainId, localPart: "overtaken", displayName: "Own" };
      const named = createIdentity(deps, { ...wanted, ...channel }, operator(workspaceId));
      expect(await refusal(named)).to.equal("insufficient_scope");
      // The address is still free.
      expect(await refusal(createIdentity(deps, wanted, operator(workspaceId)))).to.equal("done");
    });
  });

  it("the old approvers get a mail when they are replaced, and every approver gets one when human approval is turned off", async () => {
    const channels = {
      approvalChannel: approver("boss@x.example"),
      secondaryApprovalChannel: approver("deputy@x.example"),
    };
    const [one, two] = [await tenant.newIdentity(channels), await tenant.newIdentity(channels)];
    await tenant.ask(`PATCH /v1/identities/${one.id}`, { json: { approval_channel: approver("new@x.example") } });
    const sentTo = async (subject: RegExp) => {
      const to: string[] = [];
      for await (const caught of service.outbox.after(0))
        if (subject.test(caught.subject)) to.push(...caught.envelope.to);
      return to.sort();
    };
    // A subject has no address that a tenant chose.
    await until(async () => (await sentTo(/^Approval settings changed$/)).includes("boss@x.example"));
    const off = await tenant.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: false } });
    expect(off.json.require_human_approval).to.equal(false);
    const waived = /^Human approval is no longer required$/;
    await until(async () => (await sentTo(waived)).length >= 4);
    expect(await sentTo(waived)).to.deep.equal([
      "agent@own.example",
      "boss@x.example",
      "deputy@x.example",
      "new@x.example",
    ]);
    const draft = await agent.draft(await tenant.mail({ to: two }));
    expect((await draft.ask("POST send")).status).to.equal(202);
  });
});
