import { expect } from "chai";
import { type Identity, type InProcess, mail, startInProcess, type Workspace } from "#test/support/inProcess.ts";

describe("the inbound ledger over HTTP", function () {
  this.timeout(60_000);
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  it("has an entry for every delivery, a repeated one too, newest first", async () => {
    const raw = mail({ id: "once@x.example" });
    await service.deliver(identity.address, raw);
    await service.deliver(identity.address.replace("@", "+tag@"), raw);
    const { status, json } = await workspace.ask("GET /v1/inbound");
    expect([status, json.total]).to.deep.equal([200, 2]);
    const [second, first] = json.data;
    expect([first.disposition, second.disposition]).to.deep.equal(["threaded", "duplicate"]);
    expect(second.position).to.be.greaterThan(first.position);
    expect(first.filed_position).to.be.greaterThan(first.position);
    expect(first.envelope).to.deep.equal({ from: "ann@customer.example", to: identity.address });
    expect(second.envelope.to).to.contain("+tag@");
    const { json: threads } = await workspace.ask("GET /v1/threads");
    const { json: thread } = await workspace.ask(`GET /v1/threads/${threads.data[0].id}`);
    expect(thread.messages.map(({ id }: any) => id)).to.deep.equal([first.message_id]);
    const { json: duplicates } = await workspace.ask("GET /v1/inbound?disposition=duplicate");
    expect(duplicates.data).to.deep.equal([second]);
    expect((await workspace.ask(`GET /v1/inbound/${first.id}`)).json).to.deep.equal(first);
  });

  it("gives each delivery byte for byte", async () => {
    const raw = mail({ id: "bytes@x.example", text: "B\u00fccher \u{1f4da}" });
    await service.deliver(identity.address, raw);
    const { json } = await workspace.ask("GET /v1/inbound?limit=1");
    const answer = await workspace.ask(`GET /v1/inbound/${json.data[0].id}/raw`);
    expect(answer.bytes.equals(Buffer.from(raw))).to.equal(true);
    expect(json.data[0].size_bytes).to.equal(Buffer.byteLength(raw));
    expect(answer.headers.get("content-type")).to.equal("message/rfc822");
    expect(answer.headers.get("content-disposition")).to.match(/^attachment;/);
  });

  it("shows a stranger nothing", async () => {
    const stranger = await service.workspace();
    const { id } = (await workspace.ask("GET /v1/inbound?limit=1")).json.data[0];
    expect((await stranger.ask("GET /v1/inbound")).json.total).to.equal(0);
    expect((await stranger.ask(`GET /v1/inbound?identity_id=${identity.id}`)).json.total).to.equal(0);
    for (const line of [`GET /v1/inbound/${id}`, `GET /v1/inbound/${id}/raw`, "GET /v1/inbound/nonsense"]) {
      const { status, json } = await stranger.ask(line);
      expect([status, json.error], line).to.deep.equal([404, "not_found"]);
    }
  });

  it("refuses a disposition that there is none of", async () => {
    const { status, json } = await workspace.ask("GET /v1/inbound?disposition=lost");
    expect([status, json.error]).to.deep.equal([422, "invalid_request"]);
    expect(json.message).to.contain("disposition");
  });
});
