import { createHash, randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Options, openPosts, type Posts, replayed, same } from "./idempotencySupport.ts";

describe("Idempotency-Key", () => {
  let posts: Posts;
  let basis: Posts["basis"];
  let tenant: Posts["tenant"];
  before(async () => {
    posts = await openPosts();
    ({ basis, tenant } = posts);
  });
  after(() => posts.service.stop());

  describe("replays [d0 Idempotency-Key]", () => {
    it("a repeated POST gets the first status, body and headers again, and submits no second draft", async () => {
      const key = randomUUID();
      const json = { ...basis, body_text: "Once." };
      const first = await posts.post("/v1/drafts", key, { json });
      expect([first.status, replayed(first)]).to.deep.equal([201, null]);
      await tenant.ask(`PATCH /v1/drafts/${first.json.id}`, { json: { body_text: "Changed since." } });
      const again = await posts.post("/v1/drafts", key, { json });
      same(first, again);
      expect(replayed(again)).to.equal("true");
      expect(again.headers.get("x-request-id")).not.to.equal(first.headers.get("x-request-id"));
      const drafts = await tenant.ask(`GET /v1/drafts?thread_id=${basis.thread_id}&limit=100`);
      expect(drafts.json.data.filter(({ id }: { id: string }) => id === first.json.id)).to.have.length(1);
    });

    it("a repeated POST that was refused gets the same refusal, and counts against the rate limit", async () => {
      const key = randomUUID();
      const first = await posts.post("/v1/drafts", key, {
        json: { ...basis, thread_id: randomUUID(), body_text: "x" },
      });
      expect(first.status).to.equal(404);
      const again = await posts.post("/v1/drafts", randomUUID(), { json: { ...basis, body_text: 1 } });
      expect(again.status).to.equal(422);
      const { id } = await posts.draft();
      const approved = await posts.post(`/v1/drafts/${id}/approve`, key.slice(1));
      expect(approved.status).to.equal(200);
      const refused = randomUUID();
      const late = await posts.post(`/v1/drafts/${id}/approve`, refused);
      expect(late.json.error).to.equal("invalid_status");
      const repeated = await posts.post(`/v1/drafts/${id}/approve`, refused);
      same(late, repeated);
      expect(Number(/r=(\d+)/.exec(repeated.headers.get("ratelimit")!)![1])).to.be.lessThan(
        Number(/r=(\d+)/.exec(late.headers.get("ratelimit")!)![1]),
      );
    });

    it("an idempotency record has the hash of method, URL, If-Match and bytes, for small and large bodies", async () => {
      for (const body_text of ["Soon.", "x".repeat(300_000)]) {
        const key = randomUUID();
        const json = { ...posts.basis, body_text };
        await posts.post("/v1/drafts", key, { json });
        const { rows } = await posts.service.database.query<{ request_hash: Buffer }>(
          "select request_hash from work.idempotency_keys where key = $1",
          [key],
        );
        const expected = createHash("sha256")
          .update('["POST","/v1/drafts",null]')
          .update(JSON.stringify(json))
          .digest();
        expect(rows[0]!.request_hash.equals(expected)).to.equal(true);
      }
    });

    it("every POST route of the document replays its first answer", async () => {
      const { paths } = (await tenant.ask("GET /openapi.json")).json;
      const lines = Object.keys(paths).filter((path) => path.startsWith("/v1/") && paths[path].post);
      expect(lines.length).to.be.greaterThan(6);
      for (const path of lines) {
        const key = randomUUID();
        const line = path.replaceAll(/\{\w+\}/g, () => randomUUID());
        const first = await posts.post(line, key, { json: { unheard_of: true } });
        expect([path, first.status]).to.satisfy(([, status]: [string, number]) => status === 404 || status === 422);
        const again = await posts.post(line, key, { json: { unheard_of: true } });
        same(first, again);
        expect([path, replayed(again)]).to.deep.equal([path, "true"]);
      }
    });

    it("a POST whose idempotency record has expired runs again, with other ids", async () => {
      const key = randomUUID();
      const json = { ...basis, body_text: "Daily." };
      const first = await posts.post("/v1/drafts", key, { json });
      await posts.service.database.query("update work.idempotency_keys set expires_at = now() where key = $1", [key]);
      const next = await posts.post("/v1/drafts", key, { json });
      expect([next.status, replayed(next)]).to.deep.equal([201, null]);
      expect(next.json.id).not.to.equal(first.json.id);
    });
  });

  it("the same Idempotency-Key in two workspaces makes two records", async () => {
    const key = randomUUID();
    const stranger = await posts.service.workspace();
    const made = await posts.post("/v1/api-keys", key, { json: { name: "a" } });
    const theirs = await stranger.ask("POST /v1/api-keys", {
      json: { name: "b" },
      headers: { "Idempotency-Key": key },
    });
    expect([made.status, theirs.status, theirs.json.name]).to.deep.equal([200, 200, "b"]);
  });

  it("an Idempotency-Key reused with another body, path or version is refused [d0 idempotency_mismatch]", async () => {
    const [one, two] = [await posts.draft(), await posts.draft()];
    const key = randomUUID();
    await posts.post(`/v1/drafts/${one.id}/reject`, key, { json: { reason: "no" } });
    for (const [line, options] of [
      [`/v1/drafts/${one.id}/reject`, { json: { reason: "not at all" } }],
      [`/v1/drafts/${one.id}/reject`, {}],
      [`/v1/drafts/${two.id}/reject`, { json: { reason: "no" } }],
      [`/v1/drafts/${one.id}/approve`, { json: { reason: "no" } }],
      [`/v1/drafts/${one.id}/reject`, { json: { reason: "no" }, headers: { "If-Match": '"1"' } }],
    ] as [string, Options][]) {
      const { status, json } = await posts.post(line, key, options);
      expect([status, json.error]).to.deep.equal([422, "idempotency_mismatch"]);
      expect(json.message).to.match(/^Idempotency-Key: /);
    }
    expect(await posts.eventsOf(two.id)).not.to.include("DraftRejected");
  });

  it("a malformed Idempotency-Key is refused with 422, after the path is checked", async () => {
    const { id } = await posts.draft();
    const { status, json } = await posts.post(`/v1/drafts/${id}/approve`, "x".repeat(256));
    expect([status, json.field]).to.deep.equal([422, "Idempotency-Key"]);
    expect((await posts.post(`/v1/drafts/${randomUUID()}/approve`, "x".repeat(256))).status).to.equal(404);
  });

  it("of 20 simultaneous POSTs with one Idempotency-Key one runs, and refusals have Retry-After [d0 idempotency_in_flight]", async () => {
    const key = randomUUID();
    const json = { ...basis, body_text: "At once." };
    const answers = await Promise.all(Array.from({ length: 20 }, () => posts.post("/v1/drafts", key, { json })));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409);
    expect(made.length + refused.length).to.equal(20);
    expect(new Set(made.map(({ text }) => text)).size).to.equal(1);
    for (const { json, headers } of refused) {
      expect([json.error, headers.get("retry-after")]).to.deep.equal(["idempotency_in_flight", "1"]);
    }
    same(made[0]!, await posts.post("/v1/drafts", key, { json }));
    const { rows } = await posts.service.database.query(
      "select 1 from es.events where type = 'DraftSubmitted' and metadata->>'operation' like (select operation from work.idempotency_keys where key = $1) || '/%'",
      [key],
    );
    expect(rows).to.have.length(1);
  });

  it("a revoked API key gets no replay, but another key of the workspace does", async () => {
    const [old, next] = [await tenant.keyOf(["write:drafts"]), await tenant.keyOf(["write:drafts"])];
    const key = randomUUID();
    const json = { ...basis, body_text: "Mine." };
    const narrow = await tenant.keyOf(["read:threads"]);
    expect((await posts.post("/v1/drafts", key, { json, key: narrow })).json.error).to.equal("insufficient_scope");
    const first = await posts.post("/v1/drafts", key, { json, key: old });
    expect(first.status).to.equal(201);
    const { data } = (await tenant.ask("GET /v1/api-keys?limit=100")).json;
    const id = data.find(({ prefix }: { prefix: string }) => prefix === old.slice(0, 13)).id;
    await tenant.ask(`DELETE /v1/api-keys/${id}`);
    expect((await posts.post("/v1/drafts", key, { json, key: old })).status).to.equal(401);
    same(first, await posts.post("/v1/drafts", key, { json, key: next }));
    expect((await posts.post("/v1/drafts", key, { json, key: narrow })).json.error).to.equal("insufficient_scope");
  });

  it("a stored answer with a secret is encrypted, and replayed only to the API key that asked", async () => {
    const key = randomUUID();
    const other = await tenant.keyOf(["write:keys"]);
    const first = await posts.post("/v1/api-keys", key, { json: { name: "sealed" } });
    same(first, await posts.post("/v1/api-keys", key, { json: { name: "sealed" } }));
    const stranger = await posts.post("/v1/api-keys", key, { json: { name: "sealed" }, key: other });
    expect([stranger.status, stranger.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
    const { rows } = await posts.service.database.query<{ answer: Buffer }>(
      "select * from work.idempotency_keys where key = $1",
      [key],
    );
    expect(JSON.stringify(rows)).not.to.contain(first.json.key);
    expect(rows[0]!.answer.toString("utf8")).not.to.contain(first.json.key);
  });
});
