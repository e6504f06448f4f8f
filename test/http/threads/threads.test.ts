import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("threads over HTTP", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { threadHistoryDepth: 3 } }));
  });
  after(() => service.stop());

  const newest = async () => (await tenant.ask("GET /v1/threads?limit=1")).json.data[0];

  it("the list of threads of a workspace without mail is empty [4 GET /v1/threads] [8 list limit]", async () => {
    const other = await service.workspace();
    const { status, json } = await other.ask("GET /v1/threads");
    expect([status, json]).to.deep.equal([200, { data: [], total: 0, limit: 20, offset: 0, next_cursor: null }]);
  });

  it("a received mail's thread is listed, and is read with its message [4 GET /v1/threads] [4 GET /v1/threads/{id}] [3 thread (none) -> open]", async () => {
    await tenant.mail();
    const { json: list } = await tenant.ask("GET /v1/threads");
    expect(list.total).to.equal(1);
    expect(list.data[0]).to.include({ subject: "My order", status: "open", priority: "normal", needs_review: false });
    const { status, json: thread } = await tenant.ask(`GET /v1/threads/${list.data[0].id}`);
    expect(status).to.equal(200);
    expect(thread.messages).to.have.length(1);
    expect(thread.messages[0]).to.include({ direction: "inbound", from_email: "ann@customer.example" });
    expect(thread.messages[0].body_text.trim()).to.equal("Where is it?");
    expect(thread).to.include({ messages_total: 1, merged_into: null });
    expect(thread.drafts).to.deep.equal([]);
  });

  it("a thread is read with its newest messages up to the identity's depth, oldest first, and with all of them by the list [4 GET /v1/threads/{id}]", async () => {
    let last = await tenant.mail({ subject: "Deep" });
    for (let n = 1; n <= 4; n++)
      last = await tenant.mail({ inReplyTo: last, subject: "Re: Deep", text: `number ${n}` });
    const id = last.threadId;
    const thread = await tenant.thread(id);
    expect(thread.messages.map((message: any) => message.body_text.trim())).to.deep.equal([
      "number 2",
      "number 3",
      "number 4",
    ]);
    expect(thread.messages_total).to.equal(5);
    const first = (await tenant.ask(`GET /v1/threads/${id}/messages?sort=newest&limit=2`)).json;
    expect(first.data.map((message: any) => message.id)).to.deep.equal(
      thread.messages
        .slice(-2)
        .reverse()
        .map((message: any) => message.id),
    );
    const next = await tenant.ask(`GET /v1/threads/${id}/messages?sort=newest&limit=3&cursor=${first.next_cursor}`);
    expect(next.json.data).to.have.length(3);
    expect(next.json.next_cursor).to.equal(null);
    const { json: all } = await tenant.ask(`GET /v1/threads/${id}/messages?limit=2&offset=1`);
    expect(all).to.include({ total: 5, limit: 2, offset: 1 });
    expect(all.data.map((message: any) => message.body_text.trim())).to.deep.equal(["number 1", "number 2"]);
  });

  const dayMs = 86_400_000;

  it("threads are filtered by words, contact, date, priority, status, review flag and identity [4 GET /v1/threads]", async () => {
    const from = "Zoë Miller <zoe@x.example>";
    const { threadId: id } = await tenant.mail({ from, subject: "Invoice", text: "about the aardvark" });
    const today = new Date().toISOString().slice(0, 10);
    const finds = async (query: string) => {
      const { status, json } = await tenant.ask(`GET /v1/threads?limit=100&${query}`);
      expect(status, JSON.stringify(json)).to.equal(200);
      if (!query.startsWith("offset=")) expect(json.total, query).to.equal(json.data.length);
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
      `from_date=${new Date(Date.now() - 1.5 * dayMs).toISOString()}&to_date=${new Date(Date.now() + dayMs).toISOString()}`,
      `from_date=${today}&status=open&priority=normal&needs_review=false&identity_id=${tenant.identity.id}`,
      "to_date=9999-12-31",
      "priority=normal",
      "status=open",
      "needs_review=false",
      `identity_id=${tenant.identity.id.toUpperCase()}`,
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
      `from_date=${today}&status=closed`,
      `from_date=${today}&to_date=2000-01-01`,
      "priority=urgent",
      "status=closed",
      "needs_review=true",
      "identity_id=0193a0aa-0000-7000-8000-000000000001",
      "offset=1000",
    ]) {
      expect(await finds(query), query).to.equal(false);
    }
  });

  it("a filter of threads that is unknown or has a bad value is refused with its name", async () => {
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
      const { outcome, json } = await tenant.ask(`GET /v1/threads?${query}`);
      expect(outcome, query).to.equal("422 invalid_request");
      expect(json.message, query).to.contain(field);
    }
  });

  it("a change of a thread's status, priority and review flag is answered with the changed thread", async () => {
    const { id } = await newest();
    const changes = { status: "closed", priority: "urgent", needs_review: true };
    const { status, json } = await tenant.ask(`PATCH /v1/threads/${id}`, { json: changes });
    expect(status).to.equal(200);
    expect(json).to.include(changes);
    const { json: again } = await tenant.ask(`PATCH /v1/threads/${id}`, { json: {} });
    expect(again).to.deep.equal(json);
    const { json: sorted } = await tenant.ask("GET /v1/threads?sort=priority");
    expect(sorted.data[0].id).to.equal(id);
    const bad = await tenant.ask(`PATCH /v1/threads/${id}`, { json: { priority: "soon" } });
    expect(bad.outcome).to.equal("422 invalid_request");
    const unknown = await tenant.ask(`PATCH /v1/threads/${id}`, { json: { subject: "New" } });
    expect([unknown.status, unknown.json.message]).to.deep.equal([
      422,
      "subject: unknown field: expected status, needs_review, priority",
    ]);
  });

  it("a thread of another workspace, a missing one and no id at all are answered alike", async () => {
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
    expect((await stranger.ask(`GET /v1/threads?identity_id=${tenant.identity.id}`)).json.total).to.equal(0);
    expect((await stranger.ask("GET /v1/threads?q=aardvark")).json.total).to.equal(0);
  });

  it("a key that may only read threads changes no thread", async () => {
    const key = await tenant.keyOf(["read:threads"]);
    const { id } = await newest();
    const { outcome } = await tenant.ask(`PATCH /v1/threads/${id}`, { key, json: { status: "open" } });
    expect(outcome).to.equal("401 insufficient_scope");
  });

  it("a merged thread is read under its own id with the survivor's content, and only the survivor is listed", async () => {
    const to = await tenant.newIdentity();
    const mails = [await tenant.mail({ to, subject: "One" }), await tenant.mail({ to, subject: "Two" })] as const;
    const [one, two] = [{ id: mails[0].threadId }, { id: mails[1].threadId }];
    expect(two.id).not.to.equal(one.id);
    await tenant.mail({ to, subject: "Both", inReplyTo: mails.map(({ id }) => id) });
    const merged = await tenant.thread(two.id);
    expect(merged).to.include({ id: two.id, merged_into: one.id, subject: "One", messages_total: 3 });
    expect((await tenant.ask(`GET /v1/threads/${two.id}/messages`)).json.total).to.equal(3);
    const { json: list } = await tenant.ask(`GET /v1/threads?identity_id=${to.id}`);
    expect(list.data.map((thread: any) => thread.id)).to.deep.equal([one.id]);
    const { json: patched } = await tenant.ask(`PATCH /v1/threads/${two.id}`, { json: { priority: "high" } });
    expect(patched).to.include({ id: two.id, merged_into: one.id, priority: "high" });
    expect((await tenant.ask(`GET /v1/threads/${one.id}`)).json).to.include({ priority: "high", merged_into: null });
  });
});
