import { expect } from "chai";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("a workspace that requires human approval", function () {
  this.timeout(60_000);
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
      [`DELETE /v1/identities/${plain.json.id}`, undefined],
      ["PATCH /v1/workspaces/me", { require_human_approval: false }],
    ] as const) {
      const { status, json: answer } = await agent(line, { json });
      expect([status, answer.error], line).to.deep.equal([401, "insufficient_scope"]);
    }
    const named = await workspace.ask(`PATCH /v1/identities/${plain.json.id}`, { json: channel });
    expect(named.status).to.equal(200);
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
