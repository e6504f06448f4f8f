import { expect } from "chai";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** The contract's tables of states, each transition asked of the service over HTTP. */
describe("states and transitions", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let letters = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  const asked = async (line: string, json?: unknown) => (await workspace.ask(line, { json })).json;

  /** A thread with one inbound message, and what a draft on it needs. */
  async function question(on = identity) {
    letters += 1;
    const id = `state${letters}@customer.example`;
    await service.deliver(on.address, mail({ id, to: on.address, subject: `State ${letters}` }));
    const { data } = await asked(`GET /v1/threads?identity_id=${on.id}&limit=1`);
    const { messages } = await asked(`GET /v1/threads/${data[0].id}`);
    const body = { thread_id: data[0].id, identity_id: on.id, based_on_message_id: messages[0].id, body_text: "Yes." };
    const again = () =>
      service.deliver(
        on.address,
        mail({ id: `again.${id}`, to: on.address, inReplyTo: id, subject: `Re: State ${letters}` }),
      );
    return { body, again };
  }
  const threadStatus = async (id: string) => (await asked(`GET /v1/threads/${id}`)).status;
  const statusOf = async (id: string) => (await asked(`GET /v1/drafts/${id}`)).status;
  const typesOf = async (id: string): Promise<string[]> =>
    (await asked(`GET /v1/drafts/${id}/history?limit=100`)).data.map(({ type }: { type: string }) => type);

  it("a draft of an identity that approves by itself is approved, queued and delivered [3 (none) -> approved]", async () => {
    const auto = await service.identity(workspace.id, { autoApproveReplies: true });
    const { body } = await question(auto);
    const { status, json } = await workspace.ask("POST /v1/drafts", { json: body });
    expect([status, json.auto_approved]).to.deep.equal([201, true]);
    await until(async () => (await statusOf(json.id)) === "sent");
    const types = await typesOf(json.id);
    expect(types.indexOf("DraftQueued")).to.be.above(types.indexOf("DraftSubmitted"));
  });

  it("an approved draft is sent when it is asked for, and its thread waits [3 approved -> sending] [3 sending -> sent] [3 thread -> waiting]", async () => {
    const { body } = await question();
    const draft = await asked("POST /v1/drafts", body);
    await asked(`POST /v1/drafts/${draft.id}/approve`);
    expect(await statusOf(draft.id)).to.equal("approved");
    const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    expect([status, json.status]).to.deep.equal([202, "sending"]);
    await until(async () => (await statusOf(draft.id)) === "sent");
    await until(async () => (await threadStatus(body.thread_id)) === "waiting");
  });

  it("an approved draft is stale where the customer wrote again [3 approved -> stale] [7 409 stale_draft]", async () => {
    const { body, again } = await question();
    const draft = await asked("POST /v1/drafts", body);
    await asked(`POST /v1/drafts/${draft.id}/approve`);
    await again();
    const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    expect([status, json.error]).to.deep.equal([409, "stale_draft"]);
    const { messages } = await asked(`GET /v1/threads/${body.thread_id}`);
    expect(json.new_message_id).to.equal(messages.at(-1).id);
    expect(await statusOf(draft.id)).to.equal("stale");
  });

  it("a closed thread stays closed and asks for a person when the customer writes [3 needs_review]", async () => {
    const { body, again } = await question();
    await asked(`PATCH /v1/threads/${body.thread_id}`, { status: "closed" });
    await again();
    const { status, needs_review } = await asked(`GET /v1/threads/${body.thread_id}`);
    expect([status, needs_review]).to.deep.equal(["closed", true]);
  });

  it("a disabled identity cannot send, and can again once it is active [3 identity disabled] [3 identity active] [7 422 identity_not_active]", async () => {
    const own = await service.identity(workspace.id);
    const { body } = await question(own);
    const draft = await asked("POST /v1/drafts", body);
    expect((await asked(`PATCH /v1/identities/${own.id}`, { status: "disabled" })).status).to.equal("disabled");
    const refused = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    expect([refused.status, refused.json.error]).to.deep.equal([422, "identity_not_active"]);
    expect(await statusOf(draft.id)).to.equal("pending");
    await asked(`PATCH /v1/identities/${own.id}`, { status: "active" });
    expect((await workspace.ask(`POST /v1/drafts/${draft.id}/send`)).status).to.equal(202);
  });

  it("a submission notifies the approvers, and a draft is read by its id [6 notification on submission] [4 GET /v1/drafts/{id}]", async () => {
    const own = await service.identity(workspace.id, {
      approvalChannel: { type: "email", config: { to: "boss@example.com" } },
    });
    const { body } = await question(own);
    const draft = await asked("POST /v1/drafts", body);
    await until(async () => (await asked(`GET /v1/drafts/${draft.id}`)).notification_status.state === "sent");
    expect(await asked(`GET /v1/drafts/${draft.id}`)).to.deep.include({ id: draft.id, status: "pending" });
  });
});
