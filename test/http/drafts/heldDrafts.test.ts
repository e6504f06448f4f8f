import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

describe("an approved draft that cannot leave", () => {
  let service: InProcess;
  let workspace: Awaited<ReturnType<InProcess["workspace"]>>;
  let identity: { id: string; address: string };

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { autoApproveReplies: true });
  });
  after(() => service?.stop());

  async function submitted(): Promise<string> {
    await service.deliver(identity.address, mail({ id: `${randomUUID()}@x`, to: identity.address }));
    const [thread] = (await workspace.ask("GET /v1/threads?limit=1")).json.data;
    const [message] = (await workspace.ask(`GET /v1/threads/${thread.id}/messages`)).json.data;
    const ids = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id };
    const { status, json } = await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "x" } });
    expect([status, json.status]).to.deep.equal([201, "approved"]);
    return json.id;
  }
  const read = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
  const held = (id: string, code: string) => until(async () => (await read(id)).held_code === code);

  it("says that sending is paused, and leaves when the pause ends [d2 sending_paused]", async () => {
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: true } });
    const id = await submitted();
    await held(id, "sending_paused");
    expect((await read(id)).status).to.equal("approved");
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
    await until(async () => (await read(id)).status === "sent");
    expect((await read(id)).held_code).to.equal(null);
  });

  it("says that its identity is not active, and leaves by itself once it is: no person approved it [3 identity disabled]", async () => {
    const id = await submittedThenDisabled();
    await held(id, "identity_not_active");
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "active" } });
    await until(async () => (await read(id)).status === "sent");
    expect((await read(id)).held_code).to.equal(null);
  });

  /** The pause keeps it from leaving before its identity is disabled. */
  async function submittedThenDisabled(): Promise<string> {
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: true } });
    const id = await submitted();
    await held(id, "sending_paused");
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "disabled" } });
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
    return id;
  }
});
