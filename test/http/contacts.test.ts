import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { projections } from "#projections/index.ts";
import { contactId } from "#src/commands/ids.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("contacts over HTTP [d8 contacts]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const write = (from: string) => tenant.mail({ from });
  const idOf = (email: string) => contactId(tenant.id, email);
  const read = async (email: string) => (await tenant.ask(`GET /v1/contacts/${idOf(email)}`)).json;
  const listed = async (query: string) =>
    (await tenant.ask(`GET /v1/contacts?limit=100&${query}`)).json.data.map(({ email }: any) => email);
  const edit = (email: string, json: unknown) => tenant.ask(`PATCH /v1/contacts/${idOf(email)}`, { json });

  it("a contact is made by its first mail, with its address in lower case; later mails update when it was seen", async () => {
    await write("Carla@Shop.Example");
    const first = await read("carla@shop.example");
    expect(first).to.include({
      id: idOf("carla@shop.example"),
      workspace_id: tenant.id,
      email: "carla@shop.example",
      name: null,
      domain: "shop.example",
      status: "unknown",
    });
    expect(first.tags).to.deep.equal([]);
    expect(first.first_seen_at).to.equal(first.last_seen_at);
    await write('"Carla Customer" <carla@shop.example>');
    await write('"Somebody Else" <CARLA@shop.example>');
    const later = await read("carla@shop.example");
    expect(later).to.include({ id: first.id, name: "Carla Customer", first_seen_at: first.first_seen_at });
    expect(Date.parse(later.last_seen_at)).to.be.greaterThan(Date.parse(first.last_seen_at));
  });

  it("a contact is the primary contact of the thread that its mail opened", async () => {
    const thread = await tenant.thread(await write("opener@shop.example"));
    expect(thread.primary_contact_id).to.equal((await read("opener@shop.example")).id);
  });

  it("contacts are listed page by page, the one who wrote last first", async () => {
    for (const name of ["one", "two", "three"]) await write(`${name}@order.example`);
    await write("one@order.example");
    const order = ["one@order.example", "three@order.example", "two@order.example"];
    expect(await listed("domain=Order.Example")).to.deep.equal(order);
    const { json } = await tenant.ask("GET /v1/contacts?domain=order.example&limit=1&offset=1");
    expect(json).to.include({ total: 3, limit: 1, offset: 1 });
    expect(json.data[0].email).to.equal(order[1]);
  });

  it("contacts are found by part of name or address, status, tag and domain, also combined", async () => {
    await write('"Émile Zola" <emile@books.example>');
    await write("percent%under_score@books.example");
    await edit("emile@books.example", { status: "trusted", tags: ["author", "Author"] });
    expect(await listed("q=ZOLA")).to.deep.equal(["emile@books.example"]);
    expect(await listed("q=emile%20z")).to.deep.equal(["emile@books.example"]);
    expect(await listed("q=mile@BOOKS")).to.deep.equal(["emile@books.example"]);
    expect(await listed("q=%25")).to.deep.equal(["percent%under_score@books.example"]);
    expect(await listed("q=r_s")).to.deep.equal(["percent%under_score@books.example"]);
    expect(await listed("domain=books.example&status=trusted&tag=Author&q=emile")).to.have.length(1);
    expect(await listed("tag=AUTHOR")).to.deep.equal([]);
    expect(await listed("domain=book.example")).to.deep.equal([]);
    expect(await listed("q='%20or%201=1--")).to.deep.equal([]);
  });

  it("a changed contact keeps the fields that were not given", async () => {
    await write('"Written Name" <edit@shop.example>');
    const { json: named } = await edit("edit@shop.example", { name: "Ed" });
    expect(named).to.include({ name: "Ed", status: "unknown" });
    await write('"Written Name" <edit@shop.example>');
    const { json: tagged } = await edit("edit@shop.example", { tags: ["vip", "vip", "eu"] });
    expect(tagged).to.deep.include({ name: "Ed", status: "unknown", tags: ["vip", "eu"] });
    expect((await edit("edit@shop.example", { tags: [] })).json.tags).to.deep.equal([]);
    expect((await edit("edit@shop.example", {})).json.name).to.equal("Ed");
    expect((await edit("edit@shop.example", { name: null })).json.name).to.equal(null);
    await write('"Third Name" <edit@shop.example>');
    expect((await read("edit@shop.example")).name).to.equal("Third Name");
  });

  it("a refused change of a contact names the field that is wrong", async () => {
    await write("bounds@shop.example");
    const wrong: [unknown, string][] = [
      [{ status: "evil" }, "status"],
      [{ name: "" }, "name"],
      [{ name: "a\u0007b" }, "name"],
      [{ name: "x".repeat(257) }, "name"],
      [{ tags: "vip" }, "tags"],
      [{ tags: [" "] }, "tags[0]"],
      [{ tags: ["ok", "a\nb"] }, "tags[1]"],
      [{ tags: ["x".repeat(65)] }, "tags[0]"],
      [{ tags: Array.from({ length: 51 }, (_, n) => `t${n}`) }, "tags"],
      [{ email: "other@shop.example" }, "email"],
    ];
    for (const [json, field] of wrong) {
      const answer = await edit("bounds@shop.example", json);
      expect(answer.status, JSON.stringify(json)).to.equal(422);
      expect(answer.json).to.include({ error: "invalid_request", field });
    }
    const most = { name: "x".repeat(256), tags: Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(64, "ü")) };
    expect((await edit("bounds@shop.example", most)).json).to.deep.include(most);
    for (const query of ["status=evil", "tag=", "q=", "domian=x", "limit=101"]) {
      expect((await tenant.ask(`GET /v1/contacts?${query}`)).status, query).to.equal(422);
    }
  });

  it("a deleted contact loses its name, status and tags; its next mail makes it again under the same id", async () => {
    await write('"Gone" <gone@shop.example>');
    const before = (await edit("gone@shop.example", { status: "blocked", tags: ["spam"], name: "Renamed" })).json;
    const { status, json } = await tenant.ask(`DELETE /v1/contacts/${before.id}`);
    expect(status).to.equal(200);
    expect(json).to.deep.equal({ id: before.id, deleted: true });
    expect((await tenant.ask(`GET /v1/contacts/${before.id}`)).status).to.equal(404);
    expect((await tenant.ask(`DELETE /v1/contacts/${before.id}`)).status).to.equal(404);
    expect((await edit("gone@shop.example", { name: "x" })).status).to.equal(404);
    expect(await listed("q=gone@")).to.deep.equal([]);
    await write('"Gone Again" <gone@shop.example>');
    const anew = await read("gone@shop.example");
    expect(anew).to.deep.include({ id: before.id, name: "Gone Again", status: "unknown", tags: [] });
    expect(Date.parse(anew.first_seen_at)).to.be.greaterThan(Date.parse(before.last_seen_at));
  });

  it("another workspace's contacts are answered like ones that do not exist", async () => {
    await write("private@shop.example");
    const stranger = await openTenant(service);
    const id = idOf("private@shop.example");
    const missing = await stranger.ask(`GET /v1/contacts/${randomUUID()}`);
    for (const line of [`GET /v1/contacts/${id}`, `DELETE /v1/contacts/${id}`, "GET /v1/contacts/not-a-uuid"]) {
      const answer = await stranger.ask(line);
      expect(answer.status, line).to.equal(404);
      expect({ ...answer.json, request_id: "" }).to.deep.equal({ ...missing.json, request_id: "" });
    }
    expect((await stranger.ask(`PATCH /v1/contacts/${id}`, { json: { status: "trusted" } })).status).to.equal(404);
    expect((await stranger.ask("GET /v1/contacts")).json).to.include({ total: 0 });
    // The same address is a separate contact in another workspace.
    await stranger.mail({ from: "private@shop.example" });
    await edit("private@shop.example", { status: "blocked" });
    const { json } = await stranger.ask("GET /v1/contacts?q=private");
    expect(json.data.map(({ id, status }: any) => ({ id, status }))).to.deep.equal([
      { id: contactId(stranger.id, "private@shop.example"), status: "unknown" },
    ]);
  });

  it("contacts, assistants, threads, messages and drafts are the same after a replay", async () => {
    const { store } = service.deps;
    const replay = { store, database: service.database, tablesSql: tablesFile, signal: new AbortController().signal };
    const names = ["contacts", "assistants", "threads", "messages", "drafts"];
    for (const projection of projections.filter(({ name }) => names.includes(name))) {
      const { differences, rows } = await verify(replay, projection);
      expect(differences, projection.name).to.deep.equal([]);
      if (projection.name === "contacts") expect(rows).to.be.greaterThan(10);
    }
  });

  it("contacts need read:contacts to be read and write:contacts to be changed or deleted [5 scopes]", async () => {
    const reader = await tenant.keyOf(["read:contacts"]);
    const writer = await tenant.keyOf(["write:contacts"]);
    await write("scoped@shop.example");
    const path = `/v1/contacts/${idOf("scoped@shop.example")}`;
    const tries: [string, string, number][] = [
      ["GET /v1/contacts", reader, 200],
      ["GET /v1/contacts", writer, 401],
      [`GET ${path}`, reader, 200],
      [`GET ${path}`, writer, 401],
      [`PATCH ${path}`, reader, 401],
      [`PATCH ${path}`, writer, 200],
      [`DELETE ${path}`, reader, 401],
      [`DELETE ${path}`, writer, 200],
    ];
    for (const [line, key, status] of tries) {
      const json = line.startsWith("PATCH") ? { json: {} } : {};
      expect((await tenant.ask(line, { key, ...json })).status, line).to.equal(status);
    }
  });
});
