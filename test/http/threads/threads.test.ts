import { expect } from "chai";
import { type Identity, type InProcess, mail, startInProcess, type Workspace } from "#test/support/inProcess.ts";

describe("threads over HTTP", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { threadHistoryDepth: 3 });
  });
  after(() => service.stop());

  const newest = async () => (await workspace.ask("GET /v1/threads?limit=1")).json.data[0];

  it("answers an empty list to a workspace without mail [4 GET /v1/threads] [8 list limit]", async () => {
    const other = await service.workspace();
    const { status, json } = await other.ask("GET /v1/threads");
    expect([status, json]).to.deep.equal([200, { data: [], total: 0, limit: 20, offset: 0, next_cursor: null }]);
  });

  it("lists a received mail's thread and reads it with its message [4 GET /v1/threads] [4 GET /v1/threads/{id}] [3 thread (none) -> open]", async () => {
    await service.deliver(identity.address, mail({ id: "first@customer.example" }));
    const { json: list } = await workspace.ask("GET /v1/threads");
    expect(list.total).to.equal(1);
    expect(list.data[0]).to.include({ subject: "My order", status: "open", priority: "normal", needs_review: false });
    const { status, json: thread } = await workspace.ask(`GET /v1/threads/${list.data[0].id}`);
    expect(status).to.equal(200);
    expect(thread.messages).to.have.length(1);
    expect(thread.messages[0]).to.include({ direction: "inbound", from_email: "ann@customer.example" });
    expect(thread.messages[0].body_text.trim()).to.equal("Where is it?");
    expect(thread).to.include({ messages_total: 1, merged_into: null });
    expect(thread.drafts).to.deep.equal([]);
  });

  it("reads the newest messages up to the identity's depth, oldest first, and all of them by the list [4 GET /v1/threads/{id}]", async () => {
    await service.deliver(identity.address, mail({ id: "deep-0@customer.example", subject: "Deep" }));
    for (let n = 1; n <= 4; n++) {
      const inReplyTo = `deep-${n - 1}@customer.example`;
      await service.deliver(
        identity.address,
        mail({ id: `deep-${n}@customer.example`, inReplyTo, subject: "Re: Deep", text: `number ${n}` }),
      );
    }
    const { id } = await newest();
    const { json: thread } = await workspace.ask(`GET /v1/threads/${id}`);
    expect(thread.messages.map((message: any) => message.body_text.trim())).to.deep.equal([
      "number 2",
      "number 3",
      "number 4",
    ]);
    expect(thread.messages_total).to.equal(5);
    const first = (await workspace.ask(`GET /v1/threads/${id}/messages?sort=newest&limit=2`)).json;
    expect(first.data.map((message: any) => message.id)).to.deep.equal(
      thread.messages
        .slice(-2)
        .reverse()
        .map((message: any) => message.id),
    );
    const next = await workspace.ask(`GET /v1/threads/${id}/messages?sort=newest&limit=3&cursor=${first.next_cursor}`);
    expect(next.json.data).to.have.length(3);
    expect(next.json.next_cursor).to.equal(null);
    const { json: all } = await workspace.ask(`GET /v1/threads/${id}/messages?limit=2&offset=1`);
    expect(all).to.include({ total: 5, limit: 2, offset: 1 });
    expect(all.data.map((message: any) => message.body_text.trim())).to.deep.equal(["number 1", "number 2"]);
  });

  it("filters by words, contact, date, priority, status, review flag and identity [4 GET /v1/threads]", async () => {
    await service.deliver(
      identity.address,
      mail({ id: "f@x.example", from: "Zoë Miller <zoe@x.example>", subject: "Invoice", text: "about the aardvark" }),
    );
    const { id } = await newest();
    const today = new Date().toISOString().slice(0, 10);
    const finds = async (query: string) => {
      const { status, json } = await workspace.ask(`GET /v1/threads?${query}`);
      expect(status, JSON.stringify(json)).to.equal(200);
      return json.data.some((thread: any) => thread.id === id);
    };
    for (const query of [
      "q=aardvark",
      "q=invoice",
      "contact=zoe%40x",
      `contact=${encodeURIComponent("ZOË mil")}`,
      `from_date=${today}`,
      `to_date=${today}`,
      `from_date=${today}&to_date=${today}`,
      "priority=normal",
      "status=open",
      "needs_review=false",
      `identity_id=${identity.id.toUpperCase()}`,
      "sort=priority",
      "contact=zoe&sort=priority",
      "q=aardvark&sort=priority",
    ]) {
      expect(await finds(query), query).to.equal(true);
    }
    for (const query of [
      "q=zebra",
      "q=%26%7C%21",
      "contact=%25",
      "contact=nobody",
      "from_date=2100-01-01",
      "to_date=2000-01-01",
      "priority=urgent",
      "status=closed",
      "needs_review=true",
      "identity_id=0193a0aa-0000-7000-8000-000000000001",
      "offset=1000",
    ]) {
      expect(await finds(query), query).to.equal(false);
    }
  });

  it("refuses filters it does not know or cannot read, naming them", async () => {
    for (const [query, field] of [
      ["state=open", "state"],
      ["status=ajar", "status"],
      ["needs_review=maybe", "needs_review"],
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["offset=-1", "offset"],
      ["to_date=yesterday", "to_date"],
      ["identity_id=7", "identity_id"],
    ]) {
      const { status, json } = await workspace.ask(`GET /v1/threads?${query}`);
      expect([status, json.error], query).to.deep.equal([422, "invalid_request"]);
      expect(json.message, query).to.contain(field);
    }
  });

  it("sets status, priority and review flag, and answers with what it set", async () => {
    const { id } = await newest();
    const changes = { status: "closed", priority: "urgent", needs_review: true };
    const { status, json } = await workspace.ask(`PATCH /v1/threads/${id}`, { json: changes });
    expect(status).to.equal(200);
    expect(json).to.include(changes);
    const { json: again } = await workspace.ask(`PATCH /v1/threads/${id}`, { json: {} });
    expect(again).to.deep.equal(json);
    const { json: sorted } = await workspace.ask("GET /v1/threads?sort=priority");
    expect(sorted.data[0].id).to.equal(id);
    const bad = await workspace.ask(`PATCH /v1/threads/${id}`, { json: { priority: "soon" } });
    expect([bad.status, bad.json.error]).to.deep.equal([422, "invalid_request"]);
    const unknown = await workspace.ask(`PATCH /v1/threads/${id}`, { json: { subject: "New" } });
    expect([unknown.status, unknown.json.message]).to.deep.equal([
      422,
      "subject: unknown field: expected status, needs_review, priority",
    ]);
  });

  it("answers alike for a thread of another workspace, a missing one and no id at all", async () => {
    const { id } = await newest();
    const stranger = await service.workspace();
    const bodies = new Set<string>();
    for (const path of [id, "0193a0aa-0000-7000-8000-000000000009", "nonsense"]) {
      for (const line of [`GET /v1/threads/${path}`, `GET /v1/threads/${path}/messages`, `PATCH /v1/threads/${path}`]) {
        const { status, json } = await stranger.ask(line, line.startsWith("PATCH") ? { json: { nonsense: 1 } } : {});
        expect(status, line).to.equal(404);
        bodies.add(JSON.stringify({ ...json, request_id: "" }));
      }
    }
    expect([...bodies]).to.have.length(1);
    expect((await stranger.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.total).to.equal(0);
    expect((await stranger.ask("GET /v1/threads?q=aardvark")).json.total).to.equal(0);
  });

  it("demands the scopes", async () => {
    const key = await workspace.keyOf(["read:threads"]);
    await service.caughtUp();
    const { id } = await newest();
    const { status, json } = await workspace.ask(`PATCH /v1/threads/${id}`, { key, json: { status: "open" } });
    expect([status, json.error]).to.deep.equal([401, "insufficient_scope"]);
  });

  it("answers a merged thread under its own id with the survivor's content, and lists the survivor alone", async () => {
    const to = await service.identity(workspace.id);
    await service.deliver(to.address, mail({ id: "m1@x.example", subject: "One" }));
    const one = await newest();
    await service.deliver(to.address, mail({ id: "m2@x.example", subject: "Two" }));
    const two = await newest();
    expect(two.id).not.to.equal(one.id);
    const both = mail({ id: "m3@x.example", subject: "Both", inReplyTo: "m2@x.example" }).replace(
      "References: <m2@x.example>",
      "References: <m1@x.example> <m2@x.example>",
    );
    await service.deliver(to.address, both);
    const { json: merged } = await workspace.ask(`GET /v1/threads/${two.id}`);
    expect(merged).to.include({ id: two.id, merged_into: one.id, subject: "One", messages_total: 3 });
    expect((await workspace.ask(`GET /v1/threads/${two.id}/messages`)).json.total).to.equal(3);
    const { json: list } = await workspace.ask(`GET /v1/threads?identity_id=${to.id}`);
    expect(list.data.map((thread: any) => thread.id)).to.deep.equal([one.id]);
    const { json: patched } = await workspace.ask(`PATCH /v1/threads/${two.id}`, { json: { priority: "high" } });
    expect(patched).to.include({ id: two.id, merged_into: one.id, priority: "high" });
    expect((await workspace.ask(`GET /v1/threads/${one.id}`)).json).to.include({ priority: "high", merged_into: null });
  });
});
