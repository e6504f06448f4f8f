import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

describe("assistants over HTTP [d8 assistants]", () => {
  let service: InProcess;
  let workspace: Workspace;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
  });
  after(() => service.stop());

  const created = async (json: Record<string, unknown> = { name: "Support agent" }) => {
    const answer = await workspace.ask("POST /v1/assistants", { json });
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  };

  it("assistants are created, read, changed, listed and deleted", async () => {
    const assistant = await created({ name: "Support agent", description: "Answers.\nPolitely." });
    expect(assistant).to.include({
      workspace_id: workspace.id,
      name: "Support agent",
      description: "Answers.\nPolitely.",
      status: "active",
    });
    const path = `/v1/assistants/${assistant.id}`;
    expect((await workspace.ask(`GET ${path}`)).json).to.deep.equal(assistant);
    const { json: changed } = await workspace.ask(`PATCH ${path}`, { json: { description: null, status: "disabled" } });
    expect(changed).to.include({ name: "Support agent", description: null, status: "disabled" });
    expect((await workspace.ask(`PATCH ${path}`, { json: {} })).json).to.deep.equal(changed);
    const second = await created({ name: "Second" });
    const { json: all } = await workspace.ask("GET /v1/assistants");
    expect(all.data.map(({ id }: any) => id)).to.deep.equal([second.id, assistant.id]);
    const { json: disabled } = await workspace.ask("GET /v1/assistants?status=disabled");
    expect(disabled).to.deep.include({ total: 1, data: [changed] });
    expect((await workspace.ask(`DELETE ${path}`)).json).to.deep.equal({ id: assistant.id, deleted: true });
    expect((await workspace.ask(`GET ${path}`)).status).to.equal(404);
    expect((await workspace.ask(`DELETE ${path}`)).status).to.equal(404);
    expect((await workspace.ask("GET /v1/assistants")).json.total).to.equal(1);
  });

  it("a refused assistant names the field that is wrong", async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{}, "name"],
      [{ name: "" }, "name"],
      [{ name: "a\u0000b" }, "name"],
      [{ name: "x".repeat(256) }, "name"],
      [{ name: "ok", status: "gone" }, "status"],
      [{ name: "ok", description: "x".repeat(8193) }, "description"],
      [{ name: "ok", id: randomUUID() }, "id"],
    ];
    for (const [json, field] of wrong) {
      const answer = await workspace.ask("POST /v1/assistants", { json });
      expect(answer.status, JSON.stringify(json).slice(0, 80)).to.equal(422);
      expect(answer.json.message, field).to.match(new RegExp(`^${field}`));
    }
  });

  it("an identity can have only an assistant of its own workspace, which cannot be deleted while it is used", async () => {
    const assistant = await created();
    const stranger = await service.workspace();
    const theirs = (await stranger.ask("POST /v1/assistants", { json: { name: "Theirs" } })).json;
    const domain = (await workspace.ask("GET /v1/domains")).json.data[0];
    const body = { domain_id: domain.id, local_part: `a-${randomUUID().slice(0, 8)}`, display_name: "A" };
    for (const assistant_id of [theirs.id, randomUUID()]) {
      const answer = await workspace.ask("POST /v1/identities", { json: { ...body, assistant_id } });
      expect(answer.status).to.equal(404);
      expect(answer.json).to.include({ error: "not_found", field: "assistant_id" });
    }
    const { status, json: identity } = await workspace.ask("POST /v1/identities", {
      json: { ...body, assistant_id: assistant.id },
    });
    expect(status, JSON.stringify(identity)).to.equal(201);
    expect(identity.assistant_id).to.equal(assistant.id);
    const link = (assistant_id: string | null) =>
      workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { assistant_id } });
    expect((await link(theirs.id)).status).to.equal(404);

    const refused = await workspace.ask(`DELETE /v1/assistants/${assistant.id}`);
    expect(refused.status).to.equal(409);
    expect(refused.json.error).to.equal("invalid_request");
    expect(refused.json.message).to.contain(identity.id);
    expect((await link(null)).json.assistant_id).to.equal(null);
    expect((await workspace.ask(`DELETE /v1/assistants/${assistant.id}`)).status).to.equal(200);
    expect((await link(assistant.id)).status).to.equal(404);
  });

  it("another workspace's assistants are answered like ones that do not exist", async () => {
    const { id } = await created();
    const stranger = await service.workspace();
    expect((await stranger.ask(`GET /v1/assistants/${id}`)).status).to.equal(404);
    expect((await stranger.ask(`PATCH /v1/assistants/${id}`, { json: { name: "mine" } })).status).to.equal(404);
    expect((await stranger.ask(`DELETE /v1/assistants/${id}`)).status).to.equal(404);
    expect((await stranger.ask("GET /v1/assistants")).json.total).to.equal(0);
  });
});
