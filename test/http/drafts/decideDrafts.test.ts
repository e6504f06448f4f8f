import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const ifMatch = (version: number) => ({ headers: { "If-Match": `"${version}"` } });

describe("http: editing, deciding and sending drafts", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const submitted = async (content = {}) => tenant.draft(await tenant.mail(), content);

  it("an edit makes a new version and keeps what it replaced [4 PATCH /v1/drafts/{id}] [4 GET /v1/drafts/{id}/versions] [3 pending -> pending]", async () => {
    const mail = await tenant.mail({ subject: "Question 1" });
    const draft = await tenant.draft(mail, { subject_override: "Own subject" });
    const changes = { body_text: "Sent today.", subject_override: null, cc: ["c@x.example"] };
    const { status, json, headers } = await draft.ask("PATCH", { json: changes });
    expect(status).to.equal(200);
    expect(json).to.include({ version: 2, body_text: "Sent today.", status: "pending", subject: "Question 1" });
    expect(headers.get("etag")).to.equal('"2"');
    const { json: versions } = await draft.ask("GET versions");
    expect(versions.total).to.equal(1);
    expect(versions.data[0]).to.deep.include({
      ...{ draft_id: draft.id, version: 1, subject: "Own subject", body_text: "On its way.", cc: [] },
      changed_fields: ["body_text", "subject", "cc"],
    });
    expect(versions.data[0].edited_by).to.deep.include({ kind: "api_key", name: "test key" });
  });

  it("an edit that changes nothing makes no version", async () => {
    const draft = await submitted();
    expect((await draft.edit({ body_text: draft.json.body_text })).version).to.equal(1);
  });

  it("an edit of the rationale alone makes a new version with the same hash", async () => {
    const draft = await submitted();
    const { content_sha256 } = draft.json;
    expect(await draft.edit({ rationale: "better" })).to.include({ version: 2, content_sha256, rationale: "better" });
  });

  it("an edit that would leave a draft without any body is refused", async () => {
    const draft = await submitted();
    for (const body_text of [null, ""]) {
      const { outcome } = await draft.ask("PATCH", { json: { body_text } });
      expect(outcome, String(body_text)).to.equal("422 invalid_request");
    }
    await draft.edit({ body_text: null, body_html: "<p>x</p>" });
  });

  it("of two edits of one version with If-Match the second is refused", async () => {
    const draft = await submitted();
    const edits = ["a", "b"].map((body_text) => draft.ask("PATCH", { json: { body_text }, ...ifMatch(1) }));
    const outcomes = (await Promise.all(edits)).map(({ outcome }) => outcome);
    expect(outcomes.sort()).to.deep.equal(["200", "412 version_mismatch"]);
    expect((await draft.ask("POST approve", ifMatch(1))).outcome).to.equal("412 version_mismatch");
    const approved = await draft.ask("POST approve", ifMatch(2));
    expect([approved.status, approved.json.status]).to.deep.equal([200, "approved"]);
  });

  it("edits at the same time without If-Match are all taken, one after the other", async () => {
    const draft = await submitted();
    const changes = [
      { body_text: "text" },
      { body_html: "<p>html</p>" },
      { rationale: "why" },
      { cc: ["c@x.example"] },
    ];
    await Promise.all(changes.map(draft.edit));
    const final = await draft.read();
    expect(final).to.include({ version: 5, body_text: "text", body_html: "<p>html</p>", rationale: "why" });
    expect(final.cc).to.deep.equal(["c@x.example"]);
  });

  it("a draft is approved once, is not sent by that, and says who decided about what [4 POST /v1/drafts/{id}/approve] [3 pending -> approved] [3 only pending drafts are edited] [7 422 invalid_status]", async () => {
    const draft = await submitted();
    const approved = await draft.approve();
    expect(approved.status).to.equal("approved");
    expect(approved.decided_by).to.deep.include({
      ...{ decision: "approve", kind: "api_key", name: "test key" },
      ...{ version: 1, content_sha256: draft.json.content_sha256 },
    });
    expect(approved.decided_at).to.be.a("string");
    expect((await draft.ask("POST approve")).outcome).to.equal("422 invalid_status");
    const edit = await draft.ask("PATCH", { json: { body_text: "x" } });
    expect(edit.outcome).to.equal("422 invalid_status");
    expect(edit.json.message).to.contain("approved");
  });

  it("a draft is rejected with a reason, for good, and its thread is open again [4 POST /v1/drafts/{id}/reject] [3 pending -> rejected] [3 thread draft rejected -> open]", async () => {
    const draft = await submitted();
    expect(await draft.reject("rude")).to.include({ status: "rejected", reason: "rude" });
    expect((await tenant.thread(draft)).status).to.equal("open");
    for (const verb of ["approve", "reject", "send"])
      expect((await draft.ask(`POST ${verb}`)).outcome, verb).to.equal("422 invalid_status");
    expect((await draft.ask("POST notify")).status).to.equal(422);
    const long = await draft.ask("POST reject", { json: { reason: "x".repeat(2049) } });
    expect(long.outcome).to.equal("422 invalid_request");
  });

  it("a draft of an identity that requires human approval is neither approved nor sent by a key [d2 require_human_approval]", async () => {
    const strict = await tenant.newIdentity({ requireHumanApproval: true });
    const draft = await tenant.draft(await tenant.mail({ to: strict }));
    for (const verb of ["approve", "send"])
      expect((await draft.ask(`POST ${verb}`)).outcome, verb).to.equal("422 human_approval_required");
  });

  it("a draft is queued with 202, and ends sent with its message on the thread [4 POST /v1/drafts/{id}/send] [3 pending -> sending] [3 sending -> sent]", async () => {
    const draft = await submitted();
    const { status, json } = await draft.ask("POST send");
    expect(status).to.equal(202);
    expect(json).to.deep.include({ draft_id: draft.id, thread_id: draft.threadId, status: "sending" });
    expect(Date.parse(json.queued_at)).to.be.a("number");
    await draft.becomes("sent");
    // The outbox is the recipient's mailbox: mail that it accepts counts as delivered.
    const message = await tenant.lastMessage(draft, ({ delivery_status }) => delivery_status === "delivered");
    expect(message).to.include({ direction: "outbound", draft_id: draft.id });
    expect((await draft.ask("POST send")).outcome).to.equal("422 invalid_status");
  });

  it("a draft whose customer wrote again is not sent: it is stale, names the newer message, and can be rejected [4 stale detection] [3 pending -> stale] [7 409 stale_draft]", async () => {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail);
    const newer = await tenant.mail({ inReplyTo: mail, text: "Wait!" });
    const { outcome, json } = await draft.ask("POST send");
    expect([outcome, json.new_message_id]).to.deep.equal(["409 stale_draft", newer.messageId]);
    expect(await draft.read()).to.include({ status: "stale", newer_message_id: newer.messageId });
    expect((await draft.ask("POST send")).outcome).to.equal("422 invalid_status");
    expect((await draft.ask("POST reject")).json.status).to.equal("rejected");
  });

  it("a key without write:emails sends no draft [5 write:emails]", async () => {
    const draft = await submitted();
    const key = await tenant.keyOf(["write:drafts", "read:threads"]);
    expect((await draft.ask("POST send", { key })).outcome).to.equal("401 insufficient_scope");
  });

  it("a notification needs an approval channel, and is throttled per draft [4 POST /v1/drafts/{id}/notify] [8 POST /drafts/{id}/notify] [7 429 rate_limited]", async () => {
    const draft = await submitted();
    expect((await draft.ask("POST notify")).outcome).to.equal("422 invalid_request");
    const to = await tenant.newIdentity({
      approvalChannel: { type: "email", config: { to: "boss@customer.example" } },
    });
    const other = await tenant.draft(await tenant.mail({ to }));
    const first = await other.ask("POST notify");
    expect(first.status).to.equal(200);
    expect(first.json).to.include({ draft_id: other.id, channel: "email" });
    const second = await other.ask("POST notify");
    expect(second.outcome).to.equal("429 rate_limited");
    expect(Number(second.headers.get("retry-after"))).to.be.within(1, 60);
  });
});
