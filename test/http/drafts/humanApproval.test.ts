import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { approvalView } from "#src/commands/approvals/approvalViews.ts";
import { createIdentity, deleteIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { allScopes, defaultScopes } from "#src/http/framework/keys/scopes.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("a workspace that requires human approval", () => {
  let service: InProcess;
  let workspace: Workspace;
  let agent: Workspace["ask"];
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    const key = await workspace.keyOf(allScopes.filter((scope) => scope !== "write:approvals"));
    await service.caughtUp();
    agent = (line, options) => workspace.ask(line, { key, ...options });
    const { json } = await agent("PATCH /v1/workspaces/me", { json: { require_human_approval: true } });
    expect(json.require_human_approval).to.equal(true);
  });
  after(() => service.stop());

  const approver = (to: string) => ({ type: "email", config: { to } }) as const;

  async function received(identity: { id: string; address: string }) {
    await service.deliver(identity.address, mail({ id: `q${++mails}@customer.example`, subject: `Question ${mails}` }));
    const thread = (await agent(`GET /v1/threads?identity_id=${identity.id}&limit=1`)).json.data[0];
    const { json } = await agent(`GET /v1/threads/${thread.id}`);
    return { thread_id: thread.id, identity_id: identity.id, based_on_message_id: json.messages.at(-1).id };
  }

  it("lets no key, switch or rule approve for any of its identities, the newest included", async () => {
    const identity = await service.identity(workspace.id, { autoApproveReplies: true });
    const rule = { name: "All", trigger_event: "draft.created", actions: [{ type: "skip_approval" }] };
    const { json: made } = await agent("POST /v1/rules", { json: rule });
    const about = await received(identity);
    const { json: draft } = await agent("POST /v1/drafts", { json: { ...about, body_text: "Hello" } });
    expect([draft.status, draft.auto_approved]).to.deep.equal(["pending", null]);
    for (const verb of ["approve", "send"]) {
      const { status, json } = await agent(`POST /v1/drafts/${draft.id}/${verb}`);
      expect([status, json.error], verb).to.deep.equal([422, "human_approval_required"]);
    }
    const replied = await agent("POST /v1/emails/reply", { json: { thread_id: about.thread_id, body_text: "Hi" } });
    expect([replied.status, replied.json.status]).to.deep.equal([202, "pending"]);
    let found: any;
    await until(async () => {
      const { data } = (await agent(`GET /v1/rules/${made.id}/evaluations`)).json;
      found = data.find((evaluation: any) => evaluation.draft_id === draft.id);
      return found !== undefined;
    });
    expect(found.actions[0]).to.include({ outcome: "suppressed", reason: "this identity requires human approval" });
    expect((await agent(`GET /v1/drafts/${draft.id}`)).json.status).to.equal("pending");
    await agent(`DELETE /v1/rules/${made.id}`);
  });

  it("keeps a key without write:approvals from naming approvers, making itself an identity of its own, and turning it off", async () => {
    const domain = (await agent("GET /v1/domains")).json.data[0].id;
    const create = { domain_id: domain, local_part: "own", display_name: "Own" };
    const channel = { approval_channel: approver("agent@own.example") };
    const refused = await agent("POST /v1/identities", { json: { ...create, ...channel } });
    expect([refused.status, refused.json.error]).to.deep.equal([401, "insufficient_scope"]);
    const plain = await agent("POST /v1/identities", { json: create });
    expect(plain.status).to.equal(201);
    for (const [line, json] of [
      [`PATCH /v1/identities/${plain.json.id}`, channel],
      [`PATCH /v1/identities/${plain.json.id}`, { covered_recipients: ["eve@x.example"] }],
      [`PATCH /v1/identities/${plain.json.id}`, { reply_to_email: "eve@x.example" }],
      [`PATCH /v1/identities/${plain.json.id}`, { display_name: "Your bank" }],
      [`PATCH /v1/identities/${plain.json.id}`, { send_on_channel_approval: false }],
      [`DELETE /v1/identities/${plain.json.id}`, undefined],
      ["PATCH /v1/workspaces/me", { require_human_approval: false }],
    ] as const) {
      const { status, json: answer } = await agent(line, { json });
      expect([status, answer.error], line).to.deep.equal([401, "insufficient_scope"]);
    }
    const named = await workspace.ask(`PATCH /v1/identities/${plain.json.id}`, { json: channel });
    expect(named.status).to.equal(200);
  });

  it("is not got round by an agent's key that its owner made without thinking of scopes", async () => {
    const owner = workspace.ask;
    const { json: made } = await owner("POST /v1/api-keys", {
      json: { name: "agent" },
      headers: { "Idempotency-Key": "the agent's" },
    });
    const ask: Workspace["ask"] = (line, options) => owner(line, { key: made.key, ...options });
    expect(made.scopes).to.have.members(defaultScopes(allScopes)).and.not.include.members(["write:approvals"]);

    // It makes no key, in whatever words, nor gets one that another was given.
    for (const scopes of [undefined, [], ["write:approvals"], ["*"], ["write:*"], null]) {
      const { status, json } = await ask("POST /v1/api-keys", { json: { name: "mine", scopes } });
      expect([status, json.error], JSON.stringify(scopes)).to.deep.equal([401, "insufficient_scope"]);
    }
    const keeper = await owner("POST /v1/api-keys", { json: { name: "keeper", scopes: ["write:keys", "read:keys"] } });
    const byKeeper = (json: object, headers = {}) =>
      owner("POST /v1/api-keys", { key: keeper.json.key, json, headers });
    for (const scopes of [["write:approvals"], ["read:keys", "write:approvals"], ["write:keys", "write:identities"]]) {
      const { status, json } = await byKeeper({ name: "more", scopes });
      expect([status, json.error, json.field]).to.deep.equal([422, "invalid_request", "scopes"]);
    }
    for (const scopes of [["WRITE:APPROVALS"], ["write:approvals "], ["*"], ["__proto__"], "write:keys", null]) {
      const { status, json } = await byKeeper({ name: "odd", scopes });
      expect([status, json.error], JSON.stringify(scopes)).to.deep.equal([422, "invalid_request"]);
    }
    expect((await byKeeper({ name: "less" })).json.scopes).to.deep.equal(["read:keys"]);
    const repeated = await byKeeper({ name: "agent" }, { "Idempotency-Key": "the agent's" });
    expect([repeated.status, repeated.json.error]).to.deep.equal([422, "idempotency_mismatch"]);

    // It makes identities, and none of them is less protected.
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
      const { status, json } = await ask("POST /v1/identities", { json: { ...loose, ...channel } });
      expect([status, json.error], JSON.stringify(channel)).to.deep.equal([401, "insufficient_scope"]);
    }
    const own = (await ask("POST /v1/identities", { json: loose })).json;
    const off = [{ require_human_approval: false }, { require_human_approval: false, name: "Ours" }];
    for (const [line, json] of [
      ...named.map((channel) => [`PATCH /v1/identities/${own.id}`, channel] as const),
      ...off.map((changes) => ["PATCH /v1/workspaces/me", changes] as const),
      [`DELETE /v1/identities/${own.id}`, undefined] as const,
    ]) {
      const { status, json: answer } = await ask(line, { json });
      expect([status, answer.error], `${line} ${JSON.stringify(json)}`).to.deep.equal([401, "insufficient_scope"]);
    }
    const mailed = { identity_id: own.id, to: ["ann@customer.example"], subject: "Hello", body_text: "Hello" };
    const sent = await ask("POST /v1/emails/send", { json: mailed });
    expect([sent.status, sent.json.status]).to.deep.equal([202, "pending"]);
    for (const verb of ["approve", "send"]) {
      const { status, json } = await ask(`POST /v1/drafts/${sent.json.draft_id}/${verb}`);
      expect([status, json.error], verb).to.deep.equal([422, "human_approval_required"]);
    }
    expect((await owner("GET /v1/workspaces/me")).json).to.include({ require_human_approval: true, name: "Test" });
  });

  it("has approvers warned of a Reply-To that is no address of the workspace", async () => {
    const identity = await service.identity(workspace.id);
    const { id: stranger } = await service.workspace();
    const theirs = await service.identity(stranger);
    const { json: draft } = await agent("POST /v1/drafts", {
      json: { ...(await received(identity)), body_text: "Hello" },
    });
    const warned = async (reply_to_email: string | null) => {
      const changed = await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { reply_to_email } });
      expect(changed.status, changed.text).to.equal(200);
      let view: ApprovalView | undefined;
      await until(async () => {
        const { state } = await service.deps.drafts.load(draft.id);
        const expiresAt = new Date().toISOString();
        view = await approvalView(service.deps, { draftId: draft.id, draft: state, version: state.version, expiresAt });
        return view.content.reply_to === reply_to_email;
      });
      return reviewCard(view!).warnings.filter((warning) => warning.startsWith("Replies to it do not come back here"));
    };
    const own = identity.address.replace("@", "+more@");
    for (const address of ["eve@x.example", theirs.address, own, null]) {
      const isElsewhere = address === "eve@x.example" || address === theirs.address;
      const sentence = `Replies to it do not come back here: they go to ${address}, which is no address of this workspace.`;
      expect(await warned(address), String(address)).to.deep.equal(isElsewhere ? [sentence] : []);
    }
  });

  describe("turned on while a change is on its way", () => {
    /** The service's commands for somebody whose look at the workspace is followed by the switch. */
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

    it("keeps the channel of an identity", async () => {
      const { workspaceId, identity, deps } = await overtaken();
      const change = { workspaceId, identityId: identity.id, changes: channel, mayLoosen: false };
      expect(await refusal(updateIdentity(deps, change, operator(workspaceId)))).to.equal("insufficient_scope");
      const { state } = await deps.identities.load(identity.id);
      expect(state.approvalChannel).to.deep.equal(approver("boss@x.example"));
    });

    it("keeps an identity from being deleted", async () => {
      const { workspaceId, identity, deps } = await overtaken();
      const deletion = { workspaceId, identityId: identity.id, mayLoosen: false };
      expect(await refusal(deleteIdentity(deps, deletion, operator(workspaceId)))).to.equal("insufficient_scope");
    });

    it("lets nobody name approvers of a new one", async () => {
      const { workspaceId, deps } = await overtaken();
      const domainId = sandboxDomainId(workspaceId);
      const wanted = { workspaceId, domainId, localPart: "overtaken", displayName: "Own" };
      const named = createIdentity(deps, { ...wanted, ...channel }, operator(workspaceId));
      expect(await refusal(named)).to.equal("insufficient_scope");
      // The address is still to be had.
      expect(await refusal(createIdentity(deps, wanted, operator(workspaceId)))).to.equal("done");
    });
  });

  it("tells the old approvers when they are replaced, and every approver once when it is turned off", async () => {
    const channels = {
      approvalChannel: approver("boss@x.example"),
      secondaryApprovalChannel: approver("deputy@x.example"),
    };
    const [one, two] = [await service.identity(workspace.id, channels), await service.identity(workspace.id, channels)];
    await workspace.ask(`PATCH /v1/identities/${one.id}`, { json: { approval_channel: approver("new@x.example") } });
    const toldTo = async (subject: RegExp) => {
      const to: string[] = [];
      for await (const caught of service.outbox.after(0))
        if (subject.test(caught.subject)) to.push(...caught.envelope.to);
      return to.sort();
    };
    // A subject has no address that a tenant chose.
    await until(async () => (await toldTo(/^Approval settings changed$/)).includes("boss@x.example"));
    const off = await workspace.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: false } });
    expect(off.json.require_human_approval).to.equal(false);
    const waived = /^Human approval is no longer required$/;
    await until(async () => (await toldTo(waived)).length >= 4);
    expect(await toldTo(waived)).to.deep.equal([
      "agent@own.example",
      "boss@x.example",
      "deputy@x.example",
      "new@x.example",
    ]);
    const about = await received(two);
    const { json: draft } = await agent("POST /v1/drafts", { json: { ...about, body_text: "Hello" } });
    expect((await agent(`POST /v1/drafts/${draft.id}/send`)).status).to.equal(202);
  });
});
