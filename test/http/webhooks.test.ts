import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { webhookEventTypes } from "#streams/webhook/events.ts";
import { begunDraft } from "#test/support/events.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startReceiver, verified } from "#test/support/webhookReceiver.ts";

describe("webhooks over HTTP [d11 webhooks]", () => {
  let service: InProcess;
  let workspace: Workspace;

  before(async () => {
    service = await startInProcess({
      WEBHOOK_ALLOWED_HOSTS: "127.0.0.1,hooks.test:8443",
      WEBHOOK_RETRY_SECONDS: "0,0",
    });
  });
  after(() => service?.stop());
  beforeEach(async () => {
    workspace = await service.workspace();
  });

  const url = "https://hooks.example.com/countersign";
  const make = async (more: object = {}) => {
    const { status, json, text } = await workspace.ask("POST /v1/webhooks", {
      json: { url, events: ["draft.stale"], ...more },
    });
    expect(status, text).to.equal(200);
    return json;
  };

  it("webhooks are created, read, listed, changed and deleted; the secret is shown once", async () => {
    const identity = await service.identity(workspace.id);
    const made = await make({ identity_ids: [identity.id], description: "our queue" });
    const { secret, ...webhook } = made;
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), "base64")).to.have.length(32);
    expect(webhook).to.include({ url, status: "active", description: "our queue", disabled_reason: null });
    expect(webhook).to.deep.include({ events: ["draft.stale"], identity_ids: [identity.id] });
    const second = await make({ events: [...webhookEventTypes], status: "disabled" });
    const list = await workspace.ask("GET /v1/webhooks?limit=1");
    expect([list.json.total, list.json.data[0].id]).to.deep.equal([2, second.id]);
    expect((await workspace.ask(`GET /v1/webhooks/${webhook.id}`)).json).to.deep.equal(webhook);
    const changed = await workspace.ask(`PATCH /v1/webhooks/${webhook.id}`, {
      json: { url: `${url}/2`, identity_ids: null, status: "disabled" },
    });
    const expected = { ...webhook, url: `${url}/2`, identity_ids: null, status: "disabled" };
    expect({ ...changed.json, updated_at: null }).to.deep.equal({ ...expected, updated_at: null });
    const gone = await workspace.ask(`DELETE /v1/webhooks/${webhook.id}`);
    expect(gone.json).to.deep.equal({ id: webhook.id, deleted: true });
    for (const line of ["GET", "PATCH", "DELETE"]) {
      const { status } = await workspace.ask(
        `${line} /v1/webhooks/${webhook.id}`,
        line === "PATCH" ? { json: {} } : {},
      );
      expect([line, status]).to.deep.equal([line, 404]);
    }
    expect((await workspace.ask("GET /v1/webhooks")).json.total).to.equal(1);
  });

  it("a webhook's secrets are sealed in the log and in no answer except the one that made them", async () => {
    const { id, secret } = await make();
    const rotated = await workspace.ask(`POST /v1/webhooks/${id}/rotate-secret`);
    expect(rotated.json.secret)
      .to.match(/^whsec_/)
      .and.not.equal(secret);
    expect(Date.parse(rotated.json.previous_secret_until) - Date.now()).to.be.within(23.9 * 3_600_000, 24 * 3_600_000);
    const answers = await Promise.all(
      [`/v1/webhooks/${id}`, "/v1/webhooks", `/v1/webhooks/${id}/deliveries`].map((path) =>
        workspace.ask(`GET ${path}`),
      ),
    );
    const events = await service.deps.store.read(`webhook-${id}`);
    expect(events.map(({ type }) => type)).to.deep.equal(["WebhookCreated", "WebhookSecretRotated"]);
    const everything = JSON.stringify([answers.map(({ text }) => text), events]);
    for (const each of [secret, rotated.json.secret]) expect(everything).not.to.include(each.slice(6, 30));
  });

  const refused: [string, RegExp][] = [
    ["http://hooks.example.com/", /https/],
    ["ftp://hooks.example.com/", /https/],
    ["hooks.example.com", /https/],
    ["https://", /https/],
    ["https://user@hooks.example.com/", /user name/],
    ["https://user:secret@hooks.example.com/", /user name/],
    [`https://hooks.example.com/${"a".repeat(2048)}`, /2048/],
    ...[
      "127.0.0.2",
      "0x7f.2",
      "0177.0.0.2",
      "2130706434",
      "127.2",
      "0.0.0.0",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "192.0.2.1",
      "198.51.100.7",
      "203.0.113.9",
      "198.18.0.1",
      "224.0.0.1",
      "255.255.255.255",
      "240.0.0.1",
      "[::1]",
      "[::]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "[fc00::1]",
      "[fd12:3456::1]",
      "[fe80::1]",
      "[fec0::1]",
      "[ff02::1]",
      "[2001:db8::1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "localhost",
      "LOCALHOST.",
      "a.localhost",
      "127.0.0.2.",
    ].map((host): [string, RegExp] => [`https://${host}/hook`, /public internet/]),
  ];
  for (const [target, reason] of refused) {
    it(`[7 422 invalid_request] a webhook to ${target.slice(0, 60)} is refused [d11 private addresses]`, async () => {
      const created = await workspace.ask("POST /v1/webhooks", { json: { url: target, events: ["draft.stale"] } });
      expect(created.outcome, created.text).to.equal("422 invalid_request");
      expect(created.json.message)
        .to.match(/^url: /)
        .and.match(reason);
    });
  }

  it("a webhook cannot be changed to a private address; hosts that the operator allows are accepted [d11 WEBHOOK_ALLOWED_HOSTS]", async () => {
    const { id } = await make();
    const changed = await workspace.ask(`PATCH /v1/webhooks/${id}`, { json: { url: "https://127.0.0.2/" } });
    expect(changed.status).to.equal(422);
    await make({ url: "http://127.0.0.1:9/hook" });
    await make({ url: "http://hooks.test:8443/hook" });
    for (const other of ["http://hooks.test:8444/", "http://hooks.test/", "http://127.0.0.1@10.0.0.1/"]) {
      const { status } = await workspace.ask("POST /v1/webhooks", { json: { url: other, events: ["draft.stale"] } });
      expect([other, status]).to.deep.equal([other, 422]);
    }
  });

  it("[7 422 invalid_request] a refused webhook names the field that is wrong", async () => {
    const bodies: [object, RegExp][] = [
      [{ events: ["draft.stale"] }, /^url: required/],
      [{ url }, /^events: required/],
      [{ url, events: [] }, /^events: /],
      [{ url, events: ["draft.gone"] }, /^events\[0\]: /],
      [{ url, events: ["draft.stale"], status: "off" }, /^status: /],
      [{ url, events: ["draft.stale"], identity_ids: [] }, /^identity_ids: /],
      [{ url, events: ["draft.stale"], identity_ids: ["x"] }, /^identity_ids/],
      [{ url, events: ["draft.stale"], secret: "whsec_mine" }, /^secret: /],
      [{ url, events: ["draft.stale"], description: "a".repeat(256) }, /^description: /],
    ];
    for (const [json, message] of bodies) {
      const answer = await workspace.ask("POST /v1/webhooks", { json });
      expect(answer.outcome, answer.text).to.equal("422 invalid_request");
      expect(answer.json.message).to.match(message);
    }
    const foreign = await service.identity((await service.workspace()).id);
    for (const id of [foreign.id, randomUUID()]) {
      const answer = await workspace.ask("POST /v1/webhooks", {
        json: { url, events: ["draft.stale"], identity_ids: [id] },
      });
      expect(answer.outcome).to.equal("404 not_found");
      expect(answer.json.message).to.match(/^identity_ids\[0\]: /);
    }
  });

  it("a workspace has at most 20 webhooks, also when made in parallel; a deleted one makes room", async () => {
    const json = { url, events: ["draft.stale"] };
    const answers = await Promise.all(Array.from({ length: 25 }, () => workspace.ask("POST /v1/webhooks", { json })));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(20);
    expect(answers.filter(({ status }) => status === 422)).to.have.length(5);
    const { id } = answers.find(({ status }) => status === 200)!.json;
    await workspace.ask(`DELETE /v1/webhooks/${id}`);
    await make();
  });

  it("[5 scopes] another workspace's webhook is not found, and every route needs its scope", async () => {
    const { id } = await make();
    const other = await service.workspace();
    const key = await workspace.keyOf(["read:events", "write:drafts"]);
    const span = { from: "2026-01-01T00:00:00Z" };
    await service.caughtUp();
    const lines = [
      `GET /v1/webhooks/${id}`,
      `PATCH /v1/webhooks/${id}`,
      `DELETE /v1/webhooks/${id}`,
      `POST /v1/webhooks/${id}/rotate-secret`,
      `POST /v1/webhooks/${id}/test`,
      `GET /v1/webhooks/${id}/deliveries`,
      `POST /v1/webhooks/${id}/deliveries/${randomUUID()}/retry`,
      `POST /v1/webhooks/${id}/deliveries/retry`,
    ];
    for (const line of lines) {
      const options = line.startsWith("GET") ? {} : { json: line.endsWith("deliveries/retry") ? span : {} };
      const foreign = await other.ask(line, options);
      const missing = await other.ask(line.replaceAll(id, randomUUID()), options);
      expect([line, foreign.status, foreign.json.message]).to.deep.equal([line, 404, missing.json.message]);
      const unable = await workspace.ask(line, { ...options, key });
      expect([line, unable.status, unable.json.error]).to.deep.equal([line, 401, "insufficient_scope"]);
    }
  });

  it("a webhook is tested and retried on demand, and its deliveries list each attempt [d11 deliveries]", async () => {
    let status = 500;
    const receiver = await startReceiver(() => status);
    const { id, secret } = await make({ url: receiver.url });
    const tested = await workspace.ask(`POST /v1/webhooks/${id}/test`);
    expect(tested.status, tested.text).to.equal(200);
    expect(tested.json).to.include({ webhook_id: id, event_type: "webhook.test" });
    const deliveries = async () => (await workspace.ask(`GET /v1/webhooks/${id}/deliveries`)).json;
    await until(async () => (await deliveries()).data[0].status === "failed");
    const [failed] = (await deliveries()).data;
    expect(failed).to.include({ attempts: 3, response_status: 500, error: "the receiver answered 500" });
    expect(failed.next_attempt_at).to.equal(null);
    expect(failed.attempt_log).to.have.length(3);
    expect(failed.attempt_log[0]).to.include({ response_status: 500, error: "the receiver answered 500" });
    status = 200;
    const retried = await workspace.ask(`POST /v1/webhooks/${id}/deliveries/${failed.id}/retry`);
    expect(retried.status, retried.text).to.equal(200);
    await until(async () => (await deliveries()).data[0].status === "delivered");
    expect((await deliveries()).data[0]).to.include({ attempts: 4, response_status: 200, error: null });
    expect(new Set(receiver.requests.map((each) => each.id))).to.deep.equal(new Set([failed.event_id]));
    expect(verified(receiver.requests[3]!, secret)).to.include({ type: "webhook.test", workspace_id: workspace.id });
    for (const [query, total] of [
      ["status=delivered", 1],
      ["status=failed", 0],
    ] as const) {
      const { json } = await workspace.ask(`GET /v1/webhooks/${id}/deliveries?${query}`);
      expect([query, json.total]).to.deep.equal([query, total]);
    }
    await workspace.ask(`PATCH /v1/webhooks/${id}`, { json: { status: "disabled" } });
    for (const line of ["test", `deliveries/${failed.id}/retry`, "deliveries/retry"]) {
      const { status: code, json } = await workspace.ask(`POST /v1/webhooks/${id}/${line}`, {
        json: line === "deliveries/retry" ? { from: "2026-01-01T00:00:00Z" } : {},
      });
      expect([line, code, json.error]).to.deep.equal([line, 422, "invalid_status"]);
    }
    await receiver.stop();
  });

  it("[7 422 invalid_request] a span of deliveries to send again names the field that is wrong", async () => {
    const { id } = await make();
    const bodies: [object, RegExp][] = [
      [{}, /^from: required/],
      [{ from: "yesterday" }, /^from: /],
      [{ from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" }, /^from: expected a time that is not after to/],
      [{ from: "2026-01-02T00:00:00Z", to: 5 }, /^to: /],
      [{ from: "2026-01-02T00:00:00Z", status: "skipped" }, /^status: /],
    ];
    for (const [json, message] of bodies) {
      const answer = await workspace.ask(`POST /v1/webhooks/${id}/deliveries/retry`, { json });
      expect(answer.outcome, answer.text).to.equal("422 invalid_request");
      expect(answer.json.message).to.match(message);
    }
    const none = await workspace.ask(`POST /v1/webhooks/${id}/deliveries/retry`, {
      json: { from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z" },
    });
    expect(none.json).to.deep.equal({ retried: 0, next_from: null });
  });

  it("a webhook is called only for its identities, and for events after it was made", async () => {
    const receiver = await startReceiver();
    const [wanted, unwanted] = [await service.identity(workspace.id), await service.identity(workspace.id)];
    const old = await begunDraft(service.deps, workspace.id, { identityId: wanted.id });
    await old.next("DraftMarkedStale", { newMessageId: randomUUID() });
    await make({ url: receiver.url, identity_ids: [wanted.id] });
    const drafts = [];
    for (const identityId of [unwanted.id, wanted.id]) {
      const draft = await begunDraft(service.deps, workspace.id, { identityId });
      await draft.next("DraftMarkedStale", { newMessageId: randomUUID() });
      drafts.push(draft);
    }
    await until(async () => receiver.requests.length > 0);
    expect(receiver.requests.map(({ body }) => [body.type, body.data.draft_id])).to.deep.equal([
      ["draft.stale", drafts[1]!.draftId],
    ]);
    await receiver.stop();
  });
});
