import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Options, openPosts, type Posts } from "./idempotencySupport.ts";

describe("a repetition after a run that was cut off [d0 Idempotency-Key]", () => {
  let posts: Posts;
  let basis: Posts["basis"];
  let tenant: Posts["tenant"];
  before(async () => {
    posts = await openPosts();
    ({ basis, tenant } = posts);
  });
  after(() => posts.service.stop());

  it("a repeated POST of a draft that was cut off answers with the same draft", async () => {
    const [first, again] = await posts.repeat("/v1/drafts", { json: { ...basis, body_text: "The same." } });
    expect([again.status, again.json.id]).to.deep.equal([201, first.json.id]);
    expect((await posts.eventsOf(first.json.id)).filter((type) => type === "DraftSubmitted")).to.have.length(1);
  });

  it("a repeated POST of an API key that was cut off answers with the same secret, which works", async () => {
    const [first, again] = await posts.repeat("/v1/api-keys", { json: { name: "cut off" } });
    expect(again.json).to.deep.equal(first.json);
    expect((await tenant.ask("GET /v1/workspaces/me", { key: again.json.key })).status).to.equal(200);
    const { data } = (await tenant.ask("GET /v1/api-keys?limit=100")).json;
    expect(data.filter(({ name }: { name: string }) => name === "cut off")).to.have.length(1);
  });

  it("a repeated POST of an API key whose secret is lost is refused, and makes no second key", async () => {
    const key = randomUUID();
    const first = await posts.post("/v1/api-keys", key, { json: { name: "lost" } });
    await posts.cutOff(key);
    await posts.service.database.query("update work.idempotency_keys set secret = null where key = $1", [key]);
    const again = await posts.post("/v1/api-keys", key, { json: { name: "lost" } });
    expect([again.status, again.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
    expect(again.json.message).to.contain(first.json.id);
    expect((await posts.ofOperation(key)).filter((type) => type === "ApiKeyCreated")).to.have.length(1);
  });

  it("a repeated POST of an API key is refused to another key than the one that asked first", async () => {
    const other = await tenant.keyOf(["write:keys"]);
    const key = randomUUID();
    await posts.post("/v1/api-keys", key, { json: { name: "mine" } });
    await posts.cutOff(key);
    const theirs = await posts.post("/v1/api-keys", key, { json: { name: "mine" }, key: other });
    expect([theirs.status, theirs.json.error]).to.deep.equal([422, "idempotency_mismatch"]);
  });

  it("a repeated POST of an identity that was cut off answers with the same identity", async () => {
    const domain_id = (await tenant.ask("GET /v1/domains")).json.data.find((one: any) => one.sandbox).id;
    const json = { domain_id, local_part: `same-${randomUUID().slice(0, 8)}`, display_name: "Same" };
    const [first, again] = await posts.repeat("/v1/identities", { json });
    expect([again.status, again.json]).to.deep.equal([201, first.json]);
    const taken = await posts.post("/v1/identities", randomUUID(), { json });
    expect([taken.status, taken.json.error]).to.deep.equal([409, "invalid_request"]);
  });

  for (const [noun, body, type] of [
    ["rules", () => ({ name: "r", trigger_event: "email.received", conditions: {}, actions: [] }), "RuleCreated"],
    ["assistants", () => ({ name: "a" }), "AssistantCreated"],
    ["webhooks", () => ({ url: "https://hooks.example.com/x", events: ["email.received"] }), "WebhookCreated"],
  ] as [string, () => object, string][]) {
    it(`a repeated POST to /v1/${noun} that was cut off answers the same, and makes one event`, async () => {
      const [first, again, key] = await posts.repeat(`/v1/${noun}`, { json: body() });
      expect([first.status, again.status]).to.satisfy(([one, two]: number[]) => one === two && one! < 300);
      expect(again.json).to.deep.equal(first.json);
      expect((await posts.ofOperation(key)).filter((each) => each === type)).to.have.length(1);
    });
  }

  it("a repeated rotation of a webhook's secret answers with the same new secret", async () => {
    const { json } = await tenant.ask("POST /v1/webhooks", {
      json: { url: "https://hooks.example.com/y", events: ["email.received"] },
    });
    const [first, again] = await posts.repeat(`/v1/webhooks/${json.id}/rotate-secret`);
    expect(again.json.secret).to.equal(first.json.secret).and.not.to.equal(json.secret);
  });

  for (const [what, line, body] of [
    [
      "a mail to a new customer",
      () => "/v1/emails/send",
      (id) => ({ identity_id: id, to: ["new@customer.example"], subject: "Hello", body_text: "First." }),
    ],
    ["a reply", () => "/v1/emails/reply", () => ({ thread_id: basis.thread_id, body_text: "Answered." })],
    ["a test mail", (id) => `/v1/identities/${id}/test-email`, () => ({ recipient_email: "me@example.com" })],
  ] as [string, (id: string) => string, (id: string) => object][]) {
    it(`a repeated request for ${what} makes one draft, which is queued once and sent`, async () => {
      const cold = await tenant.newIdentity({ canSendCold: true });
      const [first, again, key] = await posts.repeat(line(cold.id), { json: body(cold.id) });
      expect([first.status, again.status], first.text).to.deep.equal([202, 202]);
      const { queued_at: _, ...one } = first.json;
      const { queued_at: __, ...two } = again.json;
      expect(two).to.deep.equal({ ...one, ...(one.status && { status: two.status }) });
      const types = await posts.ofOperation(key);
      for (const type of ["DraftSubmitted", "DraftQueued"])
        expect(types.filter((each) => each === type)).to.have.length(1);
      const id = first.json.draft_id ?? first.json.task_id;
      await (await tenant.draftWithId(id)).becomes("sent");
    });
  }

  for (const [action, type, options] of [
    ["approve", "DraftApproved", {}],
    ["reject", "DraftRejected", { json: { reason: "no" } }],
    ["notify", "NotifyRequested", {}],
  ] as [string, string, Options][]) {
    it(`a repeated ${action} of a draft makes one event, and answers the same`, async () => {
      const { id } = await posts.draft();
      const [first, again] = await posts.repeat(`/v1/drafts/${id}/${action}`, options);
      expect([first.status, again.status]).to.deep.equal([200, 200]);
      expect(again.json.status).to.equal(first.json.status);
      expect(again.json.notified_at).to.equal(first.json.notified_at);
      expect((await posts.eventsOf(id)).filter((each) => each === type)).to.have.length(1);
    });
  }

  it("a repeated approval does not approve a draft that changed after the first one", async () => {
    const draft = await posts.draft();
    const { id } = draft;
    const key = randomUUID();
    await posts.post(`/v1/drafts/${id}/approve`, key);
    await posts.cutOff(key);
    await tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { signature_text: `Yours, ${key}` } });
    await draft.becomes("pending");
    expect((await posts.post(`/v1/drafts/${id}/approve`, key)).json.status).to.equal("pending");
  });

  it("a repeated send queues the draft once", async () => {
    const draft = await posts.draft();
    const { id } = draft;
    const [first, again] = await posts.repeat(`/v1/drafts/${id}/send`);
    expect(again.status).to.equal(202);
    expect({ ...again.json, queued_at: "" }).to.deep.equal({ ...first.json, queued_at: "" });
    expect(Math.abs(Date.parse(again.json.queued_at) - Date.parse(first.json.queued_at))).to.be.lessThan(10_000);
    await draft.becomes("sent");
    expect((await posts.eventsOf(id)).filter((type) => type === "DraftQueued")).to.have.length(1);
    const key = randomUUID();
    const late = await posts.post(`/v1/drafts/${id}/send`, key);
    expect(late.json.error).to.equal("invalid_status");
  });

  it("a repeated send of a stale draft is refused again, with the same newer message", async () => {
    const mail = await tenant.mail({ to: await tenant.newIdentity() });
    const { id } = await tenant.draft(mail);
    await tenant.mail({ to: mail.identity, inReplyTo: mail });
    const [first, again] = await posts.repeat(`/v1/drafts/${id}/send`);
    expect([first.status, again.status]).to.deep.equal([409, 409]);
    expect(again.json.new_message_id).to.equal(first.json.new_message_id);
  });
});
