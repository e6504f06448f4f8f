import { expect } from "chai";
import { publicEventTypes } from "#streams/webhook/events.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { isRising, webhook } from "./webhookWorld.ts";

describe("webhooks of real mail and its answers [d11 webhooks]", () => {
  let service: InProcess;
  let tenant: Workspace;

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: "127.0.0.1", WEBHOOK_RETRY_SECONDS: "0" });
    tenant = await service.workspace();
  });
  after(() => service?.stop());

  it("[6 operation to event ties] [6 email.received] [6 email.sent] [6 email.delivered] [6 draft.created] [6 draft.approved] [6 draft.sent] [6 draft.stale] each operation sends its webhook event once", async () => {
    const receiver = await startReceiver();
    await webhook(tenant.ask, receiver.url, publicEventTypes);
    const identity = await service.identity(tenant.id);
    const told = (type: string) =>
      receiver.requests.filter(({ body }) => body.type === type).map(({ body }) => body.data);
    const toldOnce = async (type: string, count = 1) => {
      await until(async () => told(type).length >= count);
      expect(told(type), type).to.have.length(count);
      return told(type).at(-1);
    };
    const ask = async (line: string, status: number, json?: object) => {
      const answer = await tenant.ask(line, json ? { json } : {});
      expect(answer.status, answer.text).to.equal(status);
      return answer.json;
    };

    await service.deliver(identity.address, mail({ id: "one@customer.example", to: identity.address }));
    const received = await toldOnce("email.received");
    expect(received).to.include({ from_email: "ann@customer.example", subject: "My order", identity_id: identity.id });
    const { thread_id, message_id } = received;
    const basis = { thread_id, identity_id: identity.id, body_text: "Soon." };

    const rejected = await ask("POST /v1/drafts", 201, { ...basis, based_on_message_id: message_id });
    expect(await toldOnce("draft.created")).to.include({ draft_id: rejected.id, version: 1, auto_approved: false });
    await ask(`POST /v1/drafts/${rejected.id}/reject`, 200, { reason: "too short" });
    expect(await toldOnce("draft.rejected")).to.include({ draft_id: rejected.id, reason: "too short" });

    const stale = await ask("POST /v1/drafts", 201, { ...basis, based_on_message_id: message_id });
    const again = { id: "two@customer.example", to: identity.address, inReplyTo: "one@customer.example" };
    await service.deliver(identity.address, mail(again));
    const newest = await toldOnce("email.received", 2);
    const refused = await ask(`POST /v1/drafts/${stale.id}/send`, 409);
    expect(await toldOnce("draft.stale")).to.include({ draft_id: stale.id, new_message_id: refused.new_message_id });
    expect(refused.new_message_id).to.equal(newest.message_id);

    const sent = await ask("POST /v1/drafts", 201, { ...basis, based_on_message_id: newest.message_id });
    await ask(`PATCH /v1/drafts/${sent.id}`, 200, { body_text: "Today." });
    expect(await toldOnce("draft.updated")).to.deep.include({ draft_id: sent.id, changed_fields: ["body_text"] });
    await ask(`POST /v1/drafts/${sent.id}/approve`, 200);
    expect(await toldOnce("draft.approved")).to.include({ draft_id: sent.id, version: 2 });
    await ask(`POST /v1/drafts/${sent.id}/send`, 202);
    const queued = await toldOnce("email.sent");
    expect(await toldOnce("draft.sent")).to.include({ draft_id: sent.id, message_id: queued.message_id });
    expect(await toldOnce("email.delivered")).to.include({ draft_id: sent.id, message_id: queued.message_id });

    const ofDraft = receiver.requests.filter(({ body }) => body.data.draft_id === sent.id);
    expect(ofDraft.map(({ body }) => body.type)).to.deep.equal([
      "draft.created",
      "draft.updated",
      "draft.approved",
      "email.sent",
      "draft.sent",
      "email.delivered",
    ]);
    expect(isRising(ofDraft.map(({ body }) => body.sequence))).to.equal(true);
    // Events contain ids and facts, and no text of mails.
    expect(receiver.requests.map(({ text }) => text).join()).not.to.match(/Today\.|Soon\.|Where is it/);

    const feed = await ask("GET /v1/events?limit=100", 200);
    expect(feed.data.map(({ id }: any) => id).sort()).to.deep.equal(receiver.requests.map(({ id }) => id).sort());
    await receiver.stop();
  });
});
