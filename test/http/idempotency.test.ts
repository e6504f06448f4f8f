import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Answer, type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

describe("Idempotency-Key", function () {
  this.timeout(60_000);
  let service: InProcess;
  let tenant: Awaited<ReturnType<InProcess["workspace"]>>;
  let identity: { id: string; address: string };
  let basis: { thread_id: string; identity_id: string; based_on_message_id: string };

  before(async () => {
    service = await startInProcess({ NOTIFY_THROTTLE_SECONDS: "0" });
    tenant = await service.workspace();
    identity = await service.identity(tenant.id, {
      approvalChannel: { type: "email", config: { to: "boss@example.com" } },
    });
    await service.deliver(identity.address, mail({ id: "q@customer.example" }));
    const thread = (await tenant.ask("GET /v1/threads")).json.data[0];
    const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
    basis = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
  });
  after(() => service.stop());

  type Options = { json?: unknown; key?: string | null; headers?: Record<string, string> };
  const post = (line: string, idempotencyKey: string, options: Options = {}): Promise<Answer> =>
    tenant.ask(`POST ${line}`, { ...options, headers: { ...options.headers, "Idempotency-Key": idempotencyKey } });
  const same = (one: Answer, two: Answer) => {
    expect([two.status, two.text]).to.deep.equal([one.status, one.text]);
    expect(two.headers.get("etag")).to.equal(one.headers.get("etag"));
    expect(two.headers.get("content-type")).to.equal(one.headers.get("content-type"));
  };
  const replayed = (answer: Answer) => answer.headers.get("idempotency-replayed");
  const draft = async () => (await tenant.ask("POST /v1/drafts", { json: { ...basis, body_text: "Soon." } })).json;
  const events = async (where: string, value: string): Promise<string[]> => {
    const { rows } = await service.database.query<{ type: string }>(
      `select type from es.events where ${where} = $1 order by position`,
      [value],
    );
    return rows.map(({ type }) => type);
  };
  const ofOperation = async (key: string): Promise<string[]> => {
    const { rows } = await service.database.query<{ operation: string }>(
      "select operation from work.idempotency_keys where key = $1",
      [key],
    );
    return events("split_part(metadata->>'operation', '/', 1)", rows[0]!.operation);
  };
  const eventsOf = (draftId: string) => events("stream_id", `draft-${draftId}`);

  describe("replays the first answer [d0 Idempotency-Key]", () => {
    it("with its status, body and headers, and does nothing again", async () => {
      const key = randomUUID();
      const json = { ...basis, body_text: "Once." };
      const first = await post("/v1/drafts", key, { json });
      expect([first.status, replayed(first)]).to.deep.equal([201, null]);
      await tenant.ask(`PATCH /v1/drafts/${first.json.id}`, { json: { body_text: "Changed since." } });
      const again = await post("/v1/drafts", key, { json });
      same(first, again);
      expect(replayed(again)).to.equal("true");
      expect(again.headers.get("x-request-id")).not.to.equal(first.headers.get("x-request-id"));
      const drafts = await tenant.ask(`GET /v1/drafts?thread_id=${basis.thread_id}&limit=100`);
      expect(drafts.json.data.filter(({ id }: { id: string }) => id === first.json.id)).to.have.length(1);
    });

    it("also where it was a refusal, and counts it", async () => {
      const key = randomUUID();
      const first = await post("/v1/drafts", key, { json: { ...basis, thread_id: randomUUID(), body_text: "x" } });
      expect(first.status).to.equal(404);
      const again = await post("/v1/drafts", randomUUID(), { json: { ...basis, body_text: 1 } });
      expect(again.status).to.equal(422);
      const { id } = await draft();
      const approved = await post(`/v1/drafts/${id}/approve`, key.slice(1));
      expect(approved.status).to.equal(200);
      const refused = randomUUID();
      const late = await post(`/v1/drafts/${id}/approve`, refused);
      expect(late.json.error).to.equal("invalid_status");
      const repeated = await post(`/v1/drafts/${id}/approve`, refused);
      same(late, repeated);
      expect(Number(/r=(\d+)/.exec(repeated.headers.get("ratelimit")!)![1])).to.be.lessThan(
        Number(/r=(\d+)/.exec(late.headers.get("ratelimit")!)![1]),
      );
    });

    it("on every POST that there is", async () => {
      const { paths } = (await tenant.ask("GET /openapi.json")).json;
      const posts = Object.keys(paths).filter((path) => path.startsWith("/v1/") && paths[path].post);
      expect(posts.length).to.be.greaterThan(6);
      for (const path of posts) {
        const key = randomUUID();
        const line = path.replaceAll(/\{\w+\}/g, () => randomUUID());
        const first = await post(line, key, { json: { unheard_of: true } });
        expect([path, first.status]).to.satisfy(([, status]: [string, number]) => status === 404 || status === 422);
        const again = await post(line, key, { json: { unheard_of: true } });
        same(first, again);
        expect([path, replayed(again)]).to.deep.equal([path, "true"]);
      }
    });

    it("for as long as the operator says, and then begins anew, with other ids", async () => {
      const key = randomUUID();
      const json = { ...basis, body_text: "Daily." };
      const first = await post("/v1/drafts", key, { json });
      await service.database.query("update work.idempotency_keys set expires_at = now() where key = $1", [key]);
      const next = await post("/v1/drafts", key, { json });
      expect([next.status, replayed(next)]).to.deep.equal([201, null]);
      expect(next.json.id).not.to.equal(first.json.id);
    });
  });

  it("belongs to a workspace: another's is another", async () => {
    const key = randomUUID();
    const stranger = await service.workspace();
    const made = await post("/v1/api-keys", key, { json: { name: "a" } });
    const theirs = await stranger.ask("POST /v1/api-keys", {
      json: { name: "b" },
      headers: { "Idempotency-Key": key },
    });
    expect([made.status, theirs.status, theirs.json.name]).to.deep.equal([200, 200, "b"]);
  });

  it("of another body, path or version is 422 [d0 idempotency_mismatch]", async () => {
    const [one, two] = [await draft(), await draft()];
    const key = randomUUID();
    await post(`/v1/drafts/${one.id}/reject`, key, { json: { reason: "no" } });
    for (const [line, options] of [
      [`/v1/drafts/${one.id}/reject`, { json: { reason: "not at all" } }],
      [`/v1/drafts/${one.id}/reject`, {}],
      [`/v1/drafts/${two.id}/reject`, { json: { reason: "no" } }],
      [`/v1/drafts/${one.id}/approve`, { json: { reason: "no" } }],
      [`/v1/drafts/${one.id}/reject`, { json: { reason: "no" }, headers: { "If-Match": '"1"' } }],
    ] as [string, Options][]) {
      const { status, json } = await post(line, key, options);
      expect([status, json.error]).to.deep.equal([422, "idempotency_mismatch"]);
      expect(json.message).to.match(/^Idempotency-Key: /);
    }
    expect(await eventsOf(two.id)).not.to.include("DraftRejected");
  });

  it("that is malformed is 422, after the path is judged", async () => {
    const { id } = await draft();
    const { status, json } = await post(`/v1/drafts/${id}/approve`, "x".repeat(256));
    expect([status, json.field]).to.deep.equal([422, "Idempotency-Key"]);
    expect((await post(`/v1/drafts/${randomUUID()}/approve`, "x".repeat(256))).status).to.equal(404);
  });

  it("in flight is 409 with Retry-After, and one of many at once runs [d0 idempotency_in_flight]", async () => {
    const key = randomUUID();
    const json = { ...basis, body_text: "At once." };
    const answers = await Promise.all(Array.from({ length: 20 }, () => post("/v1/drafts", key, { json })));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409);
    expect(made.length + refused.length).to.equal(20);
    expect(new Set(made.map(({ text }) => text)).size).to.equal(1);
    for (const { json, headers } of refused) {
      expect([json.error, headers.get("retry-after")]).to.deep.equal(["idempotency_in_flight", "1"]);
    }
    same(made[0]!, await post("/v1/drafts", key, { json }));
    const { rows } = await service.database.query(
      "select 1 from es.events where type = 'DraftSubmitted' and metadata->>'operation' like (select operation from work.idempotency_keys where key = $1) || '/%'",
      [key],
    );
    expect(rows).to.have.length(1);
  });

  it("keeps no 401: a revoked key gets no replay, the workspace's next key does", async () => {
    const [old, next] = [await tenant.keyOf(["write:drafts"]), await tenant.keyOf(["write:drafts"])];
    await service.caughtUp();
    const key = randomUUID();
    const json = { ...basis, body_text: "Mine." };
    const narrow = await tenant.keyOf(["read:threads"]);
    await service.caughtUp();
    expect((await post("/v1/drafts", key, { json, key: narrow })).json.error).to.equal("insufficient_scope");
    const first = await post("/v1/drafts", key, { json, key: old });
    expect(first.status).to.equal(201);
    const { data } = (await tenant.ask("GET /v1/api-keys?limit=100")).json;
    const id = data.find(({ prefix }: { prefix: string }) => prefix === old.slice(0, 13)).id;
    await tenant.ask(`DELETE /v1/api-keys/${id}`);
    expect((await post("/v1/drafts", key, { json, key: old })).status).to.equal(401);
    same(first, await post("/v1/drafts", key, { json, key: next }));
    expect((await post("/v1/drafts", key, { json, key: narrow })).json.error).to.equal("insufficient_scope");
  });

  it("keeps a secret sealed, for the API key that asked and for nobody else", async () => {
    const key = randomUUID();
    const other = await tenant.keyOf(["write:keys"]);
    await service.caughtUp();
    const first = await post("/v1/api-keys", key, { json: { name: "sealed" } });
    same(first, await post("/v1/api-keys", key, { json: { name: "sealed" } }));
    const stranger = await post("/v1/api-keys", key, { json: { name: "sealed" }, key: other });
    expect([stranger.status, stranger.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
    const { rows } = await service.database.query<{ answer: Buffer }>(
      "select * from work.idempotency_keys where key = $1",
      [key],
    );
    expect(JSON.stringify(rows)).not.to.contain(first.json.key);
    expect(rows[0]!.answer.toString("utf8")).not.to.contain(first.json.key);
  });

  /** As if the process had been killed between the effect and its recorded answer, and its time had run out. */
  const cutOff = (key: string) =>
    service.database.query(
      "update work.idempotency_keys set status = null, headers = null, answer = null, sealed = false, owned_until = now() where key = $1",
      [key],
    );

  describe("after a run that was cut off behind its effect answers as the first time:", () => {
    async function repeat(line: string, options: Options = {}): Promise<[Answer, Answer, string]> {
      const key = randomUUID();
      const first = await post(line, key, options);
      await cutOff(key);
      const again = await post(line, key, options);
      expect(replayed(again)).to.equal(null);
      same(again, await post(line, key, options));
      return [first, again, key];
    }

    it("the same draft", async () => {
      const [first, again] = await repeat("/v1/drafts", { json: { ...basis, body_text: "The same." } });
      expect([again.status, again.json.id]).to.deep.equal([201, first.json.id]);
      expect((await eventsOf(first.json.id)).filter((type) => type === "DraftSubmitted")).to.have.length(1);
    });

    it("the same API key, its secret too, which works", async () => {
      const [first, again] = await repeat("/v1/api-keys", { json: { name: "cut off" } });
      expect(again.json).to.deep.equal(first.json);
      expect((await tenant.ask("GET /v1/workspaces/me", { key: again.json.key })).status).to.equal(200);
      const { data } = (await tenant.ask("GET /v1/api-keys?limit=100")).json;
      expect(data.filter(({ name }: { name: string }) => name === "cut off")).to.have.length(1);
    });

    it("no other key's secret: what was cut off is taken up by the API key that asked alone", async () => {
      const other = await tenant.keyOf(["write:keys"]);
      await service.caughtUp();
      const key = randomUUID();
      await post("/v1/api-keys", key, { json: { name: "mine" } });
      await cutOff(key);
      const theirs = await post("/v1/api-keys", key, { json: { name: "mine" }, key: other });
      expect([theirs.status, theirs.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
    });

    it("the same identity", async () => {
      const domain_id = (await tenant.ask("GET /v1/domains")).json.data.find((one: any) => one.sandbox).id;
      const json = { domain_id, local_part: `same-${randomUUID().slice(0, 8)}`, display_name: "Same" };
      const [first, again] = await repeat("/v1/identities", { json });
      expect([again.status, again.json]).to.deep.equal([201, first.json]);
      const taken = await post("/v1/identities", randomUUID(), { json });
      expect([taken.status, taken.json.error]).to.deep.equal([409, "invalid_request"]);
    });

    for (const [noun, body, type] of [
      ["rules", () => ({ name: "r", trigger_event: "email.received", conditions: {}, actions: [] }), "RuleCreated"],
      ["assistants", () => ({ name: "a" }), "AssistantCreated"],
      ["webhooks", () => ({ url: "https://hooks.example.com/x", events: ["email.received"] }), "WebhookCreated"],
    ] as [string, () => object, string][]) {
      it(`the same one of ${noun}`, async () => {
        const [first, again, key] = await repeat(`/v1/${noun}`, { json: body() });
        expect([first.status, again.status]).to.satisfy(([one, two]: number[]) => one === two && one! < 300);
        expect(again.json).to.deep.equal(first.json);
        expect((await ofOperation(key)).filter((each) => each === type)).to.have.length(1);
      });
    }

    it("the same secret of a webhook, rotated once", async () => {
      const { json } = await tenant.ask("POST /v1/webhooks", {
        json: { url: "https://hooks.example.com/y", events: ["email.received"] },
      });
      const [first, again] = await repeat(`/v1/webhooks/${json.id}/rotate-secret`);
      expect(again.json.secret).to.equal(first.json.secret).and.not.to.equal(json.secret);
    });

    for (const [what, line, body] of [
      [
        "a mail to somebody new",
        () => "/v1/emails/send",
        (id) => ({ identity_id: id, to: ["new@customer.example"], subject: "Hello", body_text: "First." }),
      ],
      ["a reply", () => "/v1/emails/reply", () => ({ thread_id: basis.thread_id, body_text: "Answered." })],
      ["a test mail", (id) => `/v1/identities/${id}/test-email`, () => ({ recipient_email: "me@example.com" })],
    ] as [string, (id: string) => string, (id: string) => object][]) {
      it(`${what}: one thread, one draft, one mail`, async () => {
        const cold = await service.identity(tenant.id, { canSendCold: true });
        const [first, again, key] = await repeat(line(cold.id), { json: body(cold.id) });
        expect([first.status, again.status], first.text).to.deep.equal([202, 202]);
        const { queued_at: _, ...one } = first.json;
        const { queued_at: __, ...two } = again.json;
        expect(two).to.deep.equal({ ...one, ...(one.status && { status: two.status }) });
        const types = await ofOperation(key);
        for (const type of ["DraftSubmitted", "DraftQueued"])
          expect(types.filter((each) => each === type)).to.have.length(1);
        const id = first.json.draft_id ?? first.json.task_id;
        await until(async () => (await tenant.ask(`GET /v1/drafts/${id}`)).json.status === "sent");
      });
    }

    for (const [action, type, options] of [
      ["approve", "DraftApproved", {}],
      ["reject", "DraftRejected", { json: { reason: "no" } }],
      ["notify", "NotifyRequested", {}],
    ] as [string, string, Options][]) {
      it(`${action}, once`, async () => {
        const { id } = await draft();
        const [first, again] = await repeat(`/v1/drafts/${id}/${action}`, options);
        expect([first.status, again.status]).to.deep.equal([200, 200]);
        expect(again.json.status).to.equal(first.json.status);
        expect(again.json.notified_at).to.equal(first.json.notified_at);
        expect((await eventsOf(id)).filter((each) => each === type)).to.have.length(1);
      });
    }

    it("an approval of before an edit is not one of what it became", async () => {
      const { id } = await draft();
      const key = randomUUID();
      await post(`/v1/drafts/${id}/approve`, key);
      await cutOff(key);
      await tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { signature_text: `Yours, ${key}` } });
      await until(async () => (await tenant.ask(`GET /v1/drafts/${id}`)).json.status === "pending");
      expect((await post(`/v1/drafts/${id}/approve`, key)).json.status).to.equal("pending");
    });

    it("a send: queued once, and sent once", async () => {
      const { id } = await draft();
      const [first, again] = await repeat(`/v1/drafts/${id}/send`);
      expect(again.status).to.equal(202);
      expect({ ...again.json, queued_at: "" }).to.deep.equal({ ...first.json, queued_at: "" });
      expect(Math.abs(Date.parse(again.json.queued_at) - Date.parse(first.json.queued_at))).to.be.lessThan(10_000);
      await until(async () => (await tenant.ask(`GET /v1/drafts/${id}`)).json.status === "sent");
      expect((await eventsOf(id)).filter((type) => type === "DraftQueued")).to.have.length(1);
      const key = randomUUID();
      const late = await post(`/v1/drafts/${id}/send`, key);
      expect(late.json.error).to.equal("invalid_status");
    });

    it("a send of a stale draft: 409 with the newer message still", async () => {
      const other = await service.identity(tenant.id);
      await service.deliver(other.address, mail({ id: "s1@customer.example" }));
      const thread = (await tenant.ask(`GET /v1/threads?identity_id=${other.id}`)).json.data[0];
      const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
      const json = { thread_id: thread.id, identity_id: other.id, based_on_message_id: messages[0].id, body_text: "x" };
      const { id } = (await tenant.ask("POST /v1/drafts", { json })).json;
      await service.deliver(other.address, mail({ id: "s2@customer.example", inReplyTo: "s1@customer.example" }));
      const [first, again] = await repeat(`/v1/drafts/${id}/send`);
      expect([first.status, again.status]).to.deep.equal([409, 409]);
      expect(again.json.new_message_id).to.equal(first.json.new_message_id);
    });
  });
});
