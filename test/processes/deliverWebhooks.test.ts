import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { queueWebhooks } from "#src/processes/queueWebhooks.ts";
import { deskOf } from "#test/support/desk.ts";
import { begunDraft, edited } from "#test/support/events.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startReceiver, verified } from "#test/support/webhookReceiver.ts";
import { barrier } from "../http/framework/support.ts";
import { bySubject, deliveriesOf, isRising, settled, webhook } from "./webhookWorld.ts";

const allOfDrafts = ["draft.created", "draft.updated", "draft.stale", "draft.rejected"];

describe("webhook delivery [d11 webhooks]", () => {
  let service: InProcess;
  let tenant: Workspace;
  /** A service with a long wait between tries, started by the first test that needs it. */
  let slow: Promise<InProcess> | undefined;
  const withWaits = () =>
    (slow ??= startInProcess({ WEBHOOK_ALLOWED_HOSTS: "127.0.0.1", WEBHOOK_RETRY_SECONDS: "600,600" }));

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: "127.0.0.1", WEBHOOK_RETRY_SECONDS: "0,0,0,0" });
  });
  after(() => Promise.all([service?.stop(), slow?.then(({ stop }) => stop())]));
  beforeEach(async () => {
    tenant = await service.workspace();
  });

  it("[6 webhook draft.stale] a webhook reports a stale draft with the message that made it stale", async () => {
    const receiver = await startReceiver();
    const { secret } = await webhook(tenant.ask, receiver.url, ["draft.stale"]);
    const { draftId, threadId, identityId, next } = await begunDraft(service.deps, tenant.id);
    const newMessageId = randomUUID();
    await next("DraftMarkedStale", { newMessageId });
    await until(async () => receiver.requests.length === 1);
    const [received] = receiver.requests;
    const { json } = await tenant.ask("GET /v1/events?types=draft.stale");
    const { cursor: _, ...event } = json.data[0];
    expect(verified(received!, secret)).to.deep.equal(event);
    expect(received!.id).to.equal(event.id);
    expect(event.data).to.deep.equal({
      draft_id: draftId,
      thread_id: threadId,
      identity_id: identityId,
      new_message_id: newMessageId,
    });
    await receiver.stop();
  });

  it("[6 webhook draft.rejected] a webhook reports a rejection with its reason", async () => {
    const receiver = await startReceiver();
    await webhook(tenant.ask, receiver.url, ["draft.rejected"]);
    const { draftId, next } = await begunDraft(service.deps, tenant.id);
    await next("DraftRejected", { version: 1, reason: "wrong price", tokenSha256: null });
    await until(async () => receiver.requests.length === 1);
    expect(receiver.requests[0]!.body).to.include({ type: "draft.rejected", workspace_id: tenant.id });
    expect(receiver.requests[0]!.body.data).to.include({ draft_id: draftId, reason: "wrong price", version: 1 });
    await receiver.stop();
  });

  it("[6 draft.approved] a webhook reports both events of an automatically approved draft in order", async () => {
    const receiver = await startReceiver();
    await webhook(tenant.ask, receiver.url, ["draft.created", "draft.approved"]);
    const { draftId } = await begunDraft(service.deps, tenant.id, { autoApproved: true });
    await until(async () => receiver.requests.length === 2);
    expect(receiver.requests.map(({ body }) => [body.type, body.data.draft_id, body.sequence])).to.deep.equal([
      ["draft.created", draftId, 1],
      ["draft.approved", draftId, 2],
    ]);
    await receiver.stop();
  });

  it("webhook events about one draft, thread or domain are handled in order, from whichever stream [d11 order]", () => {
    const { keyOf, on } = queueWebhooks(service.deps, { deliveries: {} as never, onQueued: () => undefined });
    const key = (stream: string, data: object = {}) => keyOf({ stream, data } as never);
    expect(key("draft-d1")).to.equal("d1");
    expect(key("delivery-a1", { draftId: "d1" })).to.equal("d1");
    expect([key("thread-t1"), key("domain-n1")]).to.deep.equal(["t1", "n1"]);
    expect(Object.keys(on)).to.include.members(["DraftMarkedStale", "DeliveryBounced", "MessageAuthenticated"]);
  });

  it("each draft's webhook events arrive in order although a third of all tries fail [d11 order]", async () => {
    const tries = new Map<string, number>();
    const receiver = await startReceiver(async ({ id }) => {
      const number = (tries.get(id) ?? 0) + 1;
      tries.set(id, number);
      // The id decides: some fail never, some once, some twice; and answers overtake each other.
      const digit = Number.parseInt(id.slice(-1), 16);
      await new Promise((resolve) => setTimeout(resolve, digit % 5));
      return number <= digit % 3 ? 500 + digit : 200;
    });
    const { id } = await webhook(tenant.ask, receiver.url, allOfDrafts);
    const count = sized(5, 12);
    const drafts = await Promise.all(Array.from({ length: count }, () => begunDraft(service.deps, tenant.id)));
    await Promise.all(
      drafts.map(async ({ next }) => {
        for (let version = 2; version <= 8; version++) await next("DraftEdited", edited(version));
        await next("DraftMarkedStale", { newMessageId: randomUUID() });
      }),
    );
    const all = await settled(tenant.ask, id, { count: count * 9 });
    expect(all).to.have.length(count * 9);
    expect(all.every(({ status }) => status === "delivered")).to.equal(true);
    expect(all.some(({ attempts }) => attempts === 3)).to.equal(true);
    // Checked for every try, also failed ones: no later event is sent before an earlier one is done.
    const shown = bySubject(receiver.requests);
    expect(shown.size).to.equal(count);
    for (const [draftId, sequences] of shown) {
      const once = sequences.filter((sequence, index) => sequences.indexOf(sequence) === index);
      expect([draftId, isRising(once), once.length]).to.deep.equal([draftId, true, 9]);
      expect(
        [...sequences].sort((a, b) => a - b),
        draftId,
      ).to.deep.equal(sequences);
    }
    await receiver.stop();
  });

  it("a failing webhook event delays the later ones of its draft and no others, and the list shows that [d11 order]", async () => {
    let broken = true;
    const slowly = await withWaits();
    const other = await slowly.workspace();
    const [first, second] = [await begunDraft(slowly.deps, other.id), await begunDraft(slowly.deps, other.id)];
    const failing = await startReceiver(({ body }) => (broken && body.data.draft_id === first.draftId ? 503 : 200));
    const { id } = await webhook(other.ask, failing.url, allOfDrafts);
    for (const draft of [first, second]) {
      for (let version = 2; version <= 4; version++) await draft.next("DraftEdited", edited(version));
    }
    await until(async () => bySubject(failing.taken()).get(second.draftId)?.length === 3);
    // A try is counted when it starts and logged when it ends.
    await until(
      async () => (await deliveriesOf(other.ask, id)).filter(({ attempt_log: log }) => log.length === 1).length === 4,
    );
    const waiting = (await deliveriesOf(other.ask, id)).filter(({ status }) => status === "pending").reverse();
    expect(waiting.map(({ attempts, next_attempt_at }) => [attempts, next_attempt_at !== null])).to.deep.equal([
      [1, true],
      [0, false],
      [0, false],
    ]);
    // WEBHOOK_RETRY_SECONDS=600, and up to a tenth more.
    const inSeconds = (Date.parse(waiting[0].next_attempt_at) - Date.now()) / 1000;
    expect(inSeconds).to.be.within(560, 661);
    broken = false;
    const retried = await other.ask(`POST /v1/webhooks/${id}/deliveries/${waiting[0].id}/retry`);
    expect(retried.status, retried.text).to.equal(200);
    const all = await settled(other.ask, id, { count: 6 });
    expect(all.map(({ status }) => status)).to.deep.equal(Array(6).fill("delivered"));
    expect(isRising(bySubject(failing.taken()).get(first.draftId)!)).to.equal(true);
    await failing.stop();
  });

  it("a webhook event is tried once and once for each entry of the schedule; then the next one follows [d11 schedule]", async () => {
    const receiver = await startReceiver(({ body }) => (body.type === "draft.updated" ? 500 : 200));
    const { id } = await webhook(tenant.ask, receiver.url, allOfDrafts);
    const { next } = await begunDraft(service.deps, tenant.id);
    await next("DraftEdited", edited(2));
    await next("DraftMarkedStale", { newMessageId: randomUUID() });
    const [stale, updated, created] = await settled(tenant.ask, id, { count: 3 });
    expect([created, updated, stale].map(({ status, attempts }) => [status, attempts])).to.deep.equal([
      ["delivered", 1],
      ["failed", 5],
      ["delivered", 1],
    ]);
    expect(updated.attempt_log.map(({ response_status }: any) => response_status)).to.deep.equal(Array(5).fill(500));
    const tries = receiver.requests.filter(({ body }) => body.type === "draft.updated");
    expect(new Set(tries.map((each) => each.id)).size).to.equal(1);
    expect(new Set(tries.map((each) => each.text)).size).to.equal(1);
    await receiver.stop();
  });

  it("a webhook is disabled after the answer 410, with that reason", async () => {
    const queued = barrier();
    const receiver = await startReceiver(async () => {
      await queued.opened;
      return 410;
    });
    const { id } = await webhook(tenant.ask, receiver.url, allOfDrafts);
    const { next } = await begunDraft(service.deps, tenant.id);
    for (let version = 2; version <= 5; version++) await next("DraftEdited", edited(version));
    await until(async () => (await deliveriesOf(tenant.ask, id)).length === 5);
    queued.open();
    await until(async () => (await tenant.ask(`GET /v1/webhooks/${id}`)).json.status === "disabled");
    const { json } = await tenant.ask(`GET /v1/webhooks/${id}`);
    expect(json.disabled_reason).to.match(/410/);
    const all = await settled(tenant.ask, id, { count: 5 });
    expect(all.map(({ status }) => status).reverse()).to.deep.equal(["failed", ...Array(4).fill("skipped")]);
    expect(receiver.requests).to.have.length(1);
    const active = await tenant.ask(`PATCH /v1/webhooks/${id}`, { json: { status: "active" } });
    expect(active.json).to.include({ status: "active", disabled_reason: null });
    await receiver.stop();
  });

  it("events of the time in which the service had disabled a webhook are listed as skipped, and sent again in order [d11 order]", async () => {
    let gone = true;
    const receiver = await startReceiver(() => (response) => {
      response.writeHead(gone ? 410 : 200).end(gone ? "moved away" : "thanks");
    });
    const { id, secret } = await webhook(tenant.ask, receiver.url, allOfDrafts);
    const narrow = await webhook(tenant.ask, receiver.url, ["draft.rejected"]);
    const owner = await deskOf(service, tenant.id, { role: "owner" });
    const first = await begunDraft(service.deps, tenant.id);
    await until(async () => (await tenant.ask(`GET /v1/webhooks/${id}`)).json.status === "disabled");
    const second = await begunDraft(service.deps, tenant.id);
    for (const { next } of [first, second]) {
      for (let version = 2; version <= 4; version++) await next("DraftEdited", edited(version));
      await next("DraftMarkedStale", { newMessageId: randomUUID() });
    }
    const all = await settled(tenant.ask, id, { count: 10 });
    const unsent = all.filter(({ status }) => status === "skipped");
    expect([all.length, unsent.length, receiver.requests.length]).to.deep.equal([10, 9, 1]);
    expect(await deliveriesOf(tenant.ask, narrow.id)).to.deep.equal([]);
    expect(unsent.every(({ error }) => error === "the webhook was disabled: the receiver answered 410 Gone")).to.equal(
      true,
    );
    const failed = all.find(({ status }) => status === "failed");
    expect(failed).to.include({ response_status: 410, response_body: "moved away" });
    expect(failed.payload).to.deep.equal(receiver.requests[0]!.body);
    const [stale] = unsent;
    const { json: feed } = await tenant.ask("GET /v1/events?limit=100");
    const { cursor: _, ...event } = feed.data.find((each: { id: string }) => each.id === stale.event_id);
    expect(stale).to.deep.include({ event_type: "draft.stale", attempts: 0, response_body: null, payload: event });

    await until(async () => (await service.outbox.newest(100)).some(toOwner));
    const mails = (await service.outbox.newest(100)).filter(toOwner);
    function toOwner({ envelope }: { envelope: { to: readonly string[] } }): boolean {
      return envelope.to.includes(owner.user.email);
    }
    expect(mails.map(({ subject }) => subject)).to.deep.equal(["A webhook of your workspace was disabled"]);
    expect(mails[0]!.text).to.include("because the receiver answered 410 Gone").and.to.include(id);

    gone = false;
    const retryAll = (json: object) => tenant.ask(`POST /v1/webhooks/${id}/deliveries/retry`, { json });
    const from = all.at(-1).created_at;
    expect((await retryAll({ from })).outcome).to.equal("422 invalid_status");
    await tenant.ask(`PATCH /v1/webhooks/${id}`, { json: { status: "active" } });
    const one = unsent.at(-1);
    await tenant.ask(`POST /v1/webhooks/${id}/deliveries/${one.id}/retry`);
    await until(async () => receiver.requests.some((each) => each.id === one.event_id));
    await settled(tenant.ask, id, { count: 10 });
    expect((await retryAll({ from })).json).to.deep.equal({ retried: 9, next_from: null });
    const done = await settled(tenant.ask, id, { count: 10 });
    expect(done.every(({ status, response_body }) => status === "delivered" && response_body === "thanks")).to.equal(
      true,
    );
    const again = receiver.requests.slice(2);
    for (const sequences of bySubject(again).values()) expect(isRising(sequences)).to.equal(true);
    expect(new Set(receiver.requests.slice(1).map((each) => each.id)).size).to.equal(10);
    for (const each of again) verified(each, secret);
    expect((await retryAll({ from })).json).to.deep.equal({ retried: 0, next_from: null });
    await receiver.stop();
  });

  it("no event is kept for a webhook that a caller disabled", async () => {
    const receiver = await startReceiver();
    const { id } = await webhook(tenant.ask, receiver.url, allOfDrafts);
    const other = await webhook(tenant.ask, receiver.url, ["draft.created"]);
    await tenant.ask(`PATCH /v1/webhooks/${id}`, { json: { status: "disabled" } });
    await begunDraft(service.deps, tenant.id);
    await settled(tenant.ask, other.id, { count: 1 });
    expect(await deliveriesOf(tenant.ask, id)).to.deep.equal([]);
    await receiver.stop();
  });

  it("a webhook is signed with both secrets after a rotation", async () => {
    const receiver = await startReceiver();
    const { id, secret } = await webhook(tenant.ask, receiver.url, ["draft.created"]);
    const rotated = await tenant.ask(`POST /v1/webhooks/${id}/rotate-secret`);
    await begunDraft(service.deps, tenant.id);
    await until(async () => receiver.requests.length === 1);
    for (const each of [secret, rotated.json.secret]) verified(receiver.requests[0]!, each);
    expect(receiver.requests[0]!.headers["webhook-signature"]!.split(" ")).to.have.length(2);
    await receiver.stop();
  });

  it("a webhook receiver that never answers does not delay others", async () => {
    const stuck = await startReceiver(() => () => undefined);
    const quick = await startReceiver();
    const other = await service.workspace();
    await webhook(other.ask, stuck.url, allOfDrafts);
    await webhook(tenant.ask, quick.url, allOfDrafts);
    const count = sized(12, 40);
    await Promise.all(Array.from({ length: count }, () => begunDraft(service.deps, other.id)));
    await until(async () => stuck.requests.length >= 8);
    await Promise.all(Array.from({ length: count }, () => begunDraft(service.deps, tenant.id)));
    await until(async () => quick.requests.length === count, 60_000);
    expect(stuck.requests.length).to.equal(8);
    await Promise.all([stuck.stop(), quick.stop()]);
  });

  it("a webhook has at most 8 concurrent tries, and a thousand waiting ones delay nothing else", async () => {
    let underWay = 0;
    let most = 0;
    const stuck = await startReceiver(() => {
      underWay += 1;
      most = Math.max(most, underWay);
      return () => undefined;
    });
    const quick = await startReceiver();
    const { id: stuckId } = await webhook(tenant.ask, stuck.url, ["domain.lost"]);
    await webhook(tenant.ask, quick.url, ["draft.created"]);
    await service.webhookDeliveries.add(
      Array.from({ length: 1_000 }, (_, position) => ({
        ...{ id: randomUUID(), webhook_id: stuckId, workspace_id: tenant.id, event_id: randomUUID() },
        ...{ event_type: "domain.lost", subject: randomUUID(), position, part: 0, body: "{}" },
      })),
    );
    await until(async () => underWay === 8);
    const [identity, { draftId }] = [await service.identity(tenant.id), await begunDraft(service.deps, tenant.id)];
    const startedAt = performance.now();
    await until(async () => quick.requests.some(({ body }) => body.data.draft_id === draftId));
    await service.deliver(identity.address, mail({ id: `<${randomUUID()}@x.example>`, to: identity.address }));
    // A try without an answer ends after 15 s, so the eight are still running.
    expect(performance.now() - startedAt).to.be.below(10_000);
    expect([most, stuck.requests.length]).to.deep.equal([8, 8]);
    await tenant.ask(`DELETE /v1/webhooks/${stuckId}`);
    await Promise.all([stuck.stop(), quick.stop()]);
  });

  it("waiting deliveries of a deleted webhook are dropped", async () => {
    const receiver = await startReceiver(() => 500);
    const slowly = await withWaits();
    const other = await slowly.workspace();
    const { id } = await webhook(other.ask, receiver.url, allOfDrafts);
    const { next } = await begunDraft(slowly.deps, other.id);
    await next("DraftEdited", edited(2));
    await until(async () => receiver.requests.length === 1);
    await other.ask(`DELETE /v1/webhooks/${id}`);
    await begunDraft(slowly.deps, other.id);
    await slowly.caughtUp();
    expect((await other.ask(`GET /v1/webhooks/${id}/deliveries`)).status).to.equal(404);
    expect(receiver.requests).to.have.length(1);
    await receiver.stop();
  });
});
