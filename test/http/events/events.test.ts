import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { feed } from "#projections/feed/projector.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { threadStream } from "#streams/thread/events.ts";
import { append, begunDraft, edited } from "#test/support/events.ts";
import { messageAuthenticated } from "#test/support/examples/index.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

const domainFacts = {
  name: "customer.example",
  subdomain: null,
  mailDomain: "customer.example",
  token: "t",
  sendingToken: "s",
  selector: "cs1",
  publicKey: "p",
  privateKey: "sealed",
};

describe("the event feed [d11 feed]", () => {
  let service: InProcess;
  let workspace: Workspace;

  before(async () => {
    service = await startInProcess({ ROLES: "api,projections" });
  });
  after(() => service?.stop());
  beforeEach(async () => {
    workspace = await service.workspace();
  });

  const all = async (query = "", ask = workspace.ask) => {
    const events: any[] = [];
    for (let cursor = ""; ; ) {
      const { status, json, text } = await ask(`GET /v1/events?${query}${cursor && `&after=${cursor}`}`);
      expect(status, text).to.equal(200);
      events.push(...json.data);
      cursor = json.next_cursor;
      if (!json.has_more) return events;
    }
  };

  /** A draft's whole life, and its thread's. */
  async function everyKind() {
    const { deps } = service;
    const [domainId, mailedAt] = [randomUUID(), "2026-01-01T00:00:00.000Z"];
    const draft = await begunDraft(deps, workspace.id);
    const { draftId, threadId, identityId, messageId, next } = draft;
    await next("DraftEdited", edited(2));
    await next("DraftEscalated", { version: 2, channelType: "email" });
    await next("DraftApproved", { version: 2, contentSha256: "2".repeat(64), sendRequested: false, tokenSha256: null });
    await next("DraftRejected", { version: 2, reason: "the price is wrong", tokenSha256: null });
    await next("DraftMarkedStale", { newMessageId: messageId });
    const queued = {
      attemptId: randomUUID(),
      version: 2,
      contentSha256: "2".repeat(64),
      threadId,
      identityId,
      messageId,
    };
    await next("DraftQueued", { ...queued, content: null, contentBlob: null, quotaStream: "q", reservationId: "r" });
    await next("DraftSent", { attemptId: queued.attemptId, rfcMessageId: "<a@b>", sentAt: "2026-01-01T00:00:00.000Z" });
    await next("DraftFailed", { attemptId: null, code: "internal", message: "no" });
    const report = { draftId, threadId, messageId, evidence: "the provider says so" };
    for (const type of ["DeliveryDelivered", "DeliveryBounced", "DeliveryComplained"])
      await append(
        deps,
        { workspaceId: workspace.id, stream: deliveryStream(queued.attemptId) },
        { type, data: report },
      );
    const mail = messageAuthenticated(1, { messageId, identityId, subject: "Order" });
    const thread = threadStream(threadId);
    const onThread = { workspaceId: workspace.id, stream: thread };
    const authenticated = (more: object) => ({ type: "MessageAuthenticated", data: { ...mail, ...more } });
    await append(deps, onThread, authenticated({}), authenticated({ classification: "list" }));
    // These mails trigger no webhook.
    await append(deps, onThread, authenticated({ classification: "bounce" }));
    await append(deps, onThread, authenticated({ classification: "auto_reply" }));
    await append(deps, onThread, authenticated({ contactStatus: "blocked" }));
    await append(deps, onThread, {
      type: "ThreadAbsorbed",
      data: { absorbedId: draftId, number: 2, part: { n: 1, of: 1 } },
    });
    const domain = [
      { type: "DomainAdded", data: { ...domainFacts, workspaceId: workspace.id, at: mailedAt } },
      { type: "DomainVerified", data: { at: mailedAt } },
      { type: "DomainLost", data: { at: mailedAt, because: "its MX record is gone" } },
    ];
    await append(deps, { workspaceId: workspace.id, stream: `domain-${domainId}` }, ...domain);
    await service.caughtUp();
    return { ...draft, domainId };
  }

  it("[6 operation to event ties] the event feed has each kind once per event, in order, numbered from 1", async () => {
    const { draftId, threadId, identityId, messageId, domainId } = await everyKind();
    const events = await all();
    expect(events.map(({ type }) => type)).to.deep.equal([
      "draft.created",
      "draft.updated",
      "draft.escalated",
      "draft.approved",
      "draft.rejected",
      "draft.stale",
      "email.sent",
      "draft.sent",
      "draft.failed",
      "email.delivered",
      "email.bounced",
      "email.complained",
      "email.received",
      "email.received",
      "thread.merged",
      "domain.verified",
      "domain.lost",
    ]);
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ id }) => id)).size).to.equal(events.length);
    const of = (type: string) => events.find((event) => event.type === type).data;
    const draft = { draft_id: draftId, thread_id: threadId, identity_id: identityId };
    const actor = { kind: "api_key", id: "0199aaaa-0000-7000-8000-00000000000a", name: "agent" };
    expect(of("draft.rejected")).to.deep.equal({ ...draft, version: 2, reason: "the price is wrong", actor });
    expect(of("draft.stale")).to.deep.equal({ ...draft, new_message_id: messageId });
    expect(of("email.delivered")).to.deep.equal({
      ...draft,
      message_id: messageId,
      evidence: "the provider says so",
      recipients: [],
    });
    expect(of("email.received")).to.include({ thread_id: threadId, identity_id: identityId, message_id: messageId });
    expect(of("thread.merged")).to.deep.equal({
      thread_id: threadId,
      identity_id: identityId,
      merged_thread_id: draftId,
    });
    expect(of("domain.lost")).to.deep.equal({
      domain_id: domainId,
      domain_name: "customer.example",
      because: "its MX record is gone",
    });
  });

  it("[6 operation to event ties] an auto-approved submission is created and approved", async () => {
    await begunDraft(service.deps, workspace.id, { autoApproved: true });
    await service.caughtUp();
    const [created, approved] = await all();
    expect([created.type, approved.type]).to.deep.equal(["draft.created", "draft.approved"]);
    expect(approved.data.actor.kind).to.equal("auto");
    expect(approved.id).not.to.equal(created.id);
  });

  it("the event feed is read page by page without a gap, of all kinds or of some [d11 cursor]", async () => {
    const drafts = await Promise.all(Array.from({ length: 20 }, () => begunDraft(service.deps, workspace.id)));
    await Promise.all(drafts.map(({ next }) => next("DraftMarkedStale", { newMessageId: randomUUID() })));
    await service.caughtUp();
    const events = await all("limit=7");
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 40 }, (_, index) => index + 1));
    const stale = await all("limit=3&types=draft.stale,thread.merged");
    expect(stale).to.deep.equal(events.filter(({ type }) => type === "draft.stale"));
    const { json } = await workspace.ask(`GET /v1/events?after=${events[10].cursor}&limit=1`);
    expect(json.data).to.deep.equal([events[11]]);
    const last = events.at(-1).cursor;
    const empty = await workspace.ask(`GET /v1/events?after=${last}`);
    expect(empty.json).to.deep.equal({ data: [], next_cursor: last, has_more: false });
  });

  it("[7 422 invalid_request] the event feed refuses an invalid cursor and unknown kinds [d11 cursor]", async () => {
    for (const cursor of ["x", "MTI", "LTEuMA", "MS4wLjA", "MS4xMA", "%00", "17", randomUUID()]) {
      const { status, json } = await workspace.ask(`GET /v1/events?after=${cursor}`);
      expect([cursor, status, json.error, json.message.startsWith("after:")]).to.deep.equal([
        cursor,
        422,
        "invalid_request",
        true,
      ]);
    }
    for (const query of [
      "types=draft.gone",
      "types=audit.checkpoint",
      "types=draft.stale,",
      "types=",
      "limit=0",
      "limit=101",
      "kinds=x",
    ]) {
      const { status, json } = await workspace.ask(`GET /v1/events?${query}`);
      expect([query, status, json.error]).to.deep.equal([query, 422, "invalid_request"]);
    }
    const bad = await workspace.ask("GET /v1/events/stream", { headers: { "Last-Event-ID": "nonsense" } });
    expect(bad.status).to.equal(422);
    expect(bad.json.message).to.match(/^Last-Event-ID:/);
  });

  it("[5 scopes] the event feed shows each workspace its own events, under read:events alone", async () => {
    await begunDraft(service.deps, workspace.id);
    const other = await service.workspace();
    await begunDraft(service.deps, other.id);
    await service.caughtUp();
    const mine = await all();
    const theirs = await all("", other.ask);
    expect([mine.length, theirs.length]).to.deep.equal([1, 1]);
    expect(mine[0]).to.include({ workspace_id: workspace.id, sequence: 1 });
    expect(theirs[0]).to.include({ workspace_id: other.id, sequence: 1 });
    const key = await workspace.keyOf(["read:webhooks", "read:audit"]);
    await service.caughtUp();
    for (const path of ["/v1/events", "/v1/events/stream"]) {
      const { status, json } = await workspace.ask(`GET ${path}`, { key });
      expect([status, json.error]).to.deep.equal([401, "insufficient_scope"]);
    }
  });

  it("the event feed is the same after a rebuild", async () => {
    await everyKind();
    await begunDraft(service.deps, workspace.id, { autoApproved: true });
    await service.caughtUp();
    const { database, deps } = service;
    const rows = async () => {
      const { rows: found } = await deps.reads.ofAll.query("select * from feed_events order by position, part");
      return found;
    };
    const before = await rows();
    expect(before.length).to.be.greaterThan(18);
    const signal = new AbortController().signal;
    await rebuild({ store: deps.store, database, tablesSql: tablesFile, signal }, [feed]);
    expect(await rows()).to.deep.equal(before);
  });
});
