import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect } from "chai";
import { inFull } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("drafts over HTTP", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  /** A thread with one mail, and what a draft of an answer to it says. */
  async function received(to = identity) {
    const subject = `Question ${++mails}`;
    await service.deliver(to.address, mail({ id: `q${mails}@customer.example`, subject }));
    // A reply that is sent meanwhile puts its thread first.
    const { data } = (await workspace.ask(`GET /v1/threads?identity_id=${to.id}&limit=20`)).json;
    const thread = data.find((each: { subject: string }) => each.subject === subject);
    const { json } = await workspace.ask(`GET /v1/threads/${thread.id}`);
    const body = { thread_id: thread.id, identity_id: to.id, based_on_message_id: json.messages.at(-1).id };
    return { ...body, body_text: "On its way." };
  }

  async function submitted(different: Record<string, unknown> = {}, to = identity) {
    const { status, json } = await workspace.ask("POST /v1/drafts", {
      json: { ...(await received(to)), ...different },
    });
    expect(status, JSON.stringify(json)).to.equal(201);
    return json;
  }

  const draftOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;

  describe("submitting", () => {
    it("answers 201 with the pending draft, and its thread waits for a decision [4 POST /v1/drafts] [3 (none) -> pending] [3 thread -> draft_pending]", async () => {
      const { warnings, ...draft } = await submitted({
        rationale: "asked",
        metadata: { camelCase: { a: 1 } },
        cc: ["cc@x.example"],
      });
      expect(warnings).to.deep.equal([]);
      expect(draft).to.include({
        status: "pending",
        version: 1,
        body_text: "On its way.",
        rationale: "asked",
        stale_warning: false,
        newer_message_id: null,
        answered_meanwhile: null,
        auto_approved: null,
        workspace_id: workspace.id,
      });
      expect(draft.to).to.deep.equal(["ann@customer.example"]);
      expect(draft.cc).to.deep.equal(["cc@x.example"]);
      expect(draft.metadata).to.deep.equal({ camelCase: { a: 1 } });
      expect(draft.actions.edit).to.equal(`PATCH /v1/drafts/${draft.id}`);
      const { json: thread } = await workspace.ask(`GET /v1/threads/${draft.thread_id}`);
      expect(thread.status).to.equal("draft_pending");
      expect(thread.drafts).to.deep.equal([draft]);
      const read = await workspace.ask(`GET /v1/drafts/${draft.id}`);
      expect(read.json).to.deep.equal(draft);
      expect(read.headers.get("etag")).to.equal('"1"');
    });

    it("warns of another pending draft on the same message, and names it", async () => {
      const body = await received();
      const post = async () => (await workspace.ask("POST /v1/drafts", { json: body })).json;
      const first = await post();
      const second = await post();
      expect(first.warnings).to.deep.equal([]);
      expect(second.warnings).to.deep.equal([
        `another draft on the same message is pending (draft_id ${first.id}): reject one of them`,
      ]);
      await workspace.ask(`POST /v1/drafts/${first.id}/reject`, { json: {} });
      expect((await post()).warnings[0])
        .to.include(second.id)
        .and.not.to.include(first.id);
    });

    it("warns where the message was answered already, and each of its drafts tells by which mail, when and on whose word", async () => {
      const body = await received();
      const post = async () => (await workspace.ask("POST /v1/drafts", { json: body })).json;
      const [answer, waiting] = [await post(), await post()];
      const sent = await workspace.ask(`POST /v1/drafts/${answer.id}/send`);
      expect(sent.status, JSON.stringify(sent.json)).to.equal(202);
      const late = await post();
      const told = late.answered_meanwhile;
      expect(told.by.kind).to.equal("api_key");
      expect(Date.parse(told.at)).to.be.closeTo(Date.parse(sent.json.queued_at), 5_000);
      expect(late.warnings[0]).to.equal(
        `the message was answered already, at ${told.at} (message_id ${told.message_id}): do not answer it twice`,
      );
      expect((await draftOf(waiting.id)).answered_meanwhile).to.deep.equal(told);
      expect((await draftOf(answer.id)).answered_meanwhile).to.equal(null);
      const { json: thread } = await workspace.ask(`GET /v1/threads/${body.thread_id}`);
      const [mail] = thread.messages.filter((message: any) => message.direction === "outbound");
      expect(mail.id).to.equal(told.message_id);
    });

    it("hashes exactly the content that it shows", async () => {
      const draft = await submitted({ body_html: "<p>On its way.</p>", bcc: ["b@x.example"] });
      const { json: content } = await workspace.ask(`GET /v1/drafts/${draft.id}/content`);
      const hash = createHash("sha256")
        .update(canonicalize(content) as string)
        .digest("hex");
      expect(hash).to.equal(draft.content_sha256);
      expect(content.from).to.deep.equal({ name: "Support", address: identity.address });
    });

    it("keeps contents and bodies that are too large for an event", async () => {
      const text = `${"a line of text\n".repeat(10_000)}end`;
      const draft = await submitted({ body_text: text });
      expect(draft.body_text).to.equal(text);
      expect((await draftOf(draft.id)).body_text).to.equal(text);
      const { json: content } = await workspace.ask(`GET /v1/drafts/${draft.id}/content?version=1`);
      expect(content.body_text).to.equal(text);
    });

    it("names the field of an id that is not this workspace's, alike for a stranger's and a missing one", async () => {
      const body = await received();
      const stranger = await service.workspace();
      for (const field of ["thread_id", "identity_id", "based_on_message_id"]) {
        const missing = { ...body, [field]: "0193a0aa-0000-7000-8000-000000000001" };
        const { status, json } = await workspace.ask("POST /v1/drafts", { json: missing });
        expect([status, json.error], field).to.deep.equal([404, "not_found"]);
        expect(json.message).to.match(new RegExp(`^${field}: `));
      }
      const { status, json } = await stranger.ask("POST /v1/drafts", { json: body });
      expect([status, json.message]).to.deep.equal([404, "thread_id: no such thread"]);
    });

    it("refuses an identity or a message that is not the thread's", async () => {
      const body = await received();
      const other = await service.identity(workspace.id);
      const elsewhere = await received(other);
      for (const wrong of [
        { ...body, identity_id: other.id },
        { ...body, based_on_message_id: elsewhere.based_on_message_id },
      ]) {
        const { status, json } = await workspace.ask("POST /v1/drafts", { json: wrong });
        expect([status, json.error]).to.deep.equal([422, "invalid_request"]);
      }
    });

    it("refuses bodies that break a rule, naming the field [4 drafts create body] [7 422 invalid_request]", async () => {
      const body = await received();
      const { body_text: _, ...empty } = body;
      for (const [wrong, field] of [
        [empty, "body_text"],
        [{ ...empty, body_text: "" }, "body_text"],
        [{ ...body, cc: ["Ann <ann@x.example>"] }, "cc[0]"],
        [{ ...body, cc: ["a@x.example,b@x.example"] }, "cc[0]"],
        [{ ...body, cc: Array(51).fill("a@x.example") }, "cc"],
        [{ ...body, cc: ["ANN@customer.example"] }, "cc"],
        [{ ...body, cc: ["a@x.example"], bcc: ["A@X.example"] }, "bcc"],
        [{ ...body, subject_override: "a\r\nBcc: b@x.example" }, "subject_override"],
        [{ ...body, body_text: "x".repeat(256 * 1024 + 1) }, "body_text"],
        [{ ...body, rationale: "x".repeat(8 * 1024 + 1) }, "rationale"],
        [{ ...body, metadata: { a: "x".repeat(8192) } }, "metadata"],
        [{ ...body, metadata: [] }, "metadata"],
        [{ ...body, subject: "x" }, "subject"],
        [{ ...body, thread_id: 7 }, "thread_id"],
      ] as const) {
        const { status, json } = await workspace.ask("POST /v1/drafts", { json: wrong });
        expect([status, json.error], field).to.deep.equal([422, "invalid_request"]);
        expect(json.message).to.contain(field);
      }
      expect((await workspace.ask(`GET /v1/drafts?thread_id=${body.thread_id}`)).json.total).to.equal(0);
    });

    it("allows exactly the largest sizes [8 draft metadata]", async () => {
      const metadata = { a: "x".repeat(8192 - '{"a":""}'.length) };
      const draft = await submitted({ metadata, body_text: "ü".repeat(128 * 1024), rationale: "r".repeat(8192) });
      expect(draft.metadata).to.deep.equal(metadata);
    });

    it("warns, and does not block, where a newer mail has come [4 stale detection]", async () => {
      const body = await received();
      const inReplyTo = `q${mails}@customer.example`;
      await service.deliver(identity.address, mail({ id: `n${mails}@customer.example`, inReplyTo, text: "Hello?" }));
      const { status, json: draft } = await workspace.ask("POST /v1/drafts", { json: body });
      expect([status, draft.stale_warning]).to.deep.equal([201, true]);
      const { json: thread } = await workspace.ask(`GET /v1/threads/${body.thread_id}`);
      expect(draft.newer_message_id).to.equal(thread.messages.at(-1).id);
    });
  });

  describe("attachments", () => {
    const file = (bytes: Buffer, different = {}) => ({
      filename: "Rechnung ü.pdf",
      content_type: "application/pdf",
      content: bytes.toString("base64"),
      ...different,
    });

    it("are kept by their hash and shown with the draft", async () => {
      const bytes = Buffer.from("%PDF-1.7");
      const draft = await submitted({ attachments: [file(bytes)] });
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      expect(draft.attachments).to.deep.equal([
        { filename: "Rechnung ü.pdf", content_type: "application/pdf", sha256 },
      ]);
    });

    it("may be ten, of 10 MB each and 25 MB together", async () => {
      const large = Buffer.alloc(10 * 1024 * 1024, 1);
      const rest = Buffer.alloc(5 * 1024 * 1024);
      // All of 25 MB goes through POST /v1/emails/send in any run (attachments.test.ts).
      await submitted({ attachments: inFull ? [file(large), file(large), file(rest)] : [file(large)] });
      const body = await received();
      for (const [attachments, field] of [
        [Array(11).fill(file(Buffer.from("a"))), "attachments"],
        [[file(Buffer.concat([large, Buffer.from("a")]))], "attachments[0].content"],
        ...(inFull
          ? [[[file(large), file(large), file(Buffer.concat([rest, Buffer.from("a")]))], "attachments"] as const]
          : []),
        [[file(Buffer.from("a"), { content: "a?b=" })], "attachments[0].content"],
        [[file(Buffer.from("a"), { content_type: "pdf" })], "attachments[0].content_type"],
        [[file(Buffer.from("a"), { content_type: "multipart/mixed" })], "attachments[0].content_type"],
        [[file(Buffer.from("a"), { filename: "a\nb" })], "attachments[0].filename"],
      ] as const) {
        const { status, json } = await workspace.ask("POST /v1/drafts", { json: { ...body, attachments } });
        expect([status, json.error], field).to.deep.equal([422, "invalid_request"]);
        expect(json.message).to.contain(field);
      }
      if (!inFull) return;
      const tooLarge = await workspace.ask("POST /v1/drafts", {
        json: { ...body, attachments: Array(3).fill(file(Buffer.alloc(9.9 * 1024 * 1024))) },
      });
      expect([tooLarge.status, tooLarge.json.error]).to.deep.equal([413, "payload_too_large"]);
    });
  });

  describe("listing", () => {
    it("filters by thread, identity and status, newest first; an unknown id finds nothing [4 GET /v1/drafts]", async () => {
      const draft = await submitted();
      const second = await workspace.ask("POST /v1/drafts", {
        json: {
          thread_id: draft.thread_id,
          identity_id: draft.identity_id,
          based_on_message_id: draft.based_on_message_id,
          body_html: "<p>other</p>",
        },
      });
      const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${draft.thread_id}&status=pending`);
      expect(json.data.map(({ id }: any) => id)).to.deep.equal([second.json.id, draft.id]);
      expect(
        (await workspace.ask("GET /v1/drafts?thread_id=0193a0aa-0000-7000-8000-000000000001")).json.total,
      ).to.equal(0);
      expect((await workspace.ask(`GET /v1/drafts?thread_id=${draft.thread_id}&status=sent`)).json.total).to.equal(0);
      expect((await workspace.ask("GET /v1/drafts?limit=1")).json.data[0].id).to.equal(second.json.id);
    });
  });

  describe("editing", () => {
    it("makes a new version and keeps what it replaced [4 PATCH /v1/drafts/{id}] [4 GET /v1/drafts/{id}/versions] [3 pending -> pending]", async () => {
      const draft = await submitted({ subject_override: "Own subject" });
      const edit = { body_text: "Sent today.", subject_override: null, cc: ["c@x.example"] };
      const { status, json, headers } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: edit });
      expect(status).to.equal(200);
      expect(json).to.include({ version: 2, body_text: "Sent today.", status: "pending" });
      expect(json.subject).to.match(/^Question /);
      expect(headers.get("etag")).to.equal('"2"');
      const { json: versions } = await workspace.ask(`GET /v1/drafts/${draft.id}/versions`);
      expect(versions.total).to.equal(1);
      expect(versions.data[0]).to.deep.include({
        draft_id: draft.id,
        version: 1,
        subject: "Own subject",
        body_text: "On its way.",
        cc: [],
        changed_fields: ["body_text", "subject", "cc"],
      });
      expect(versions.data[0].edited_by).to.deep.include({ kind: "api_key", name: "test key" });
    });

    it("changes nothing where nothing is different", async () => {
      const draft = await submitted();
      const { status, json } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, {
        json: { body_text: draft.body_text },
      });
      expect([status, json.version]).to.deep.equal([200, 1]);
    });

    it("makes a new version with the same hash where the rationale alone changes", async () => {
      const draft = await submitted();
      const { json } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { rationale: "better" } });
      expect(json).to.include({ version: 2, content_sha256: draft.content_sha256, rationale: "better" });
    });

    it("refuses to take both bodies away, with null or with nothing in them", async () => {
      const draft = await submitted();
      for (const body_text of [null, ""]) {
        const { status, json } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text } });
        expect([status, json.error], String(body_text)).to.deep.equal([422, "invalid_request"]);
      }
      const swapped = { body_text: null, body_html: "<p>x</p>" };
      expect((await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: swapped })).status).to.equal(200);
    });

    it("honours If-Match: of two edits of one version the second is refused", async () => {
      const draft = await submitted();
      const edits = await Promise.all(
        ["a", "b"].map((body_text) =>
          workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text }, headers: { "If-Match": '"1"' } }),
        ),
      );
      expect(edits.map(({ status }) => status).sort()).to.deep.equal([200, 412]);
      expect(edits.find(({ status }) => status === 412)?.json.error).to.equal("version_mismatch");
      const again = await workspace.ask(`POST /v1/drafts/${draft.id}/approve`, { headers: { "If-Match": '"1"' } });
      expect([again.status, again.json.error]).to.deep.equal([412, "version_mismatch"]);
      const right = await workspace.ask(`POST /v1/drafts/${draft.id}/approve`, { headers: { "If-Match": '"2"' } });
      expect([right.status, right.json.status]).to.deep.equal([200, "approved"]);
    });

    it("without If-Match takes edits at the same time, each on top of the other", async () => {
      const draft = await submitted();
      const edits = await Promise.all(
        [{ body_text: "text" }, { body_html: "<p>html</p>" }, { rationale: "why" }, { cc: ["c@x.example"] }].map(
          (json) => workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json }),
        ),
      );
      expect(edits.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
      const final = await draftOf(draft.id);
      expect(final).to.include({ version: 5, body_text: "text", body_html: "<p>html</p>", rationale: "why" });
      expect(final.cc).to.deep.equal(["c@x.example"]);
    });
  });

  describe("deciding", () => {
    it("approves once, does not send, and says who decided about what [4 POST /v1/drafts/{id}/approve] [3 pending -> approved] [3 only pending drafts are edited] [7 422 invalid_status]", async () => {
      const draft = await submitted();
      const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
      expect([status, json.status]).to.deep.equal([200, "approved"]);
      expect(json.decided_by).to.deep.include({
        decision: "approve",
        kind: "api_key",
        name: "test key",
        version: 1,
        content_sha256: draft.content_sha256,
      });
      expect(json.decided_at).to.be.a("string");
      const again = await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
      expect([again.status, again.json.error]).to.deep.equal([422, "invalid_status"]);
      const edit = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text: "x" } });
      expect([edit.status, edit.json.error]).to.deep.equal([422, "invalid_status"]);
      expect(edit.json.message).to.contain("approved");
    });

    it("rejects with a reason, for good, and frees the thread [4 POST /v1/drafts/{id}/reject] [3 pending -> rejected] [3 thread draft rejected -> open]", async () => {
      const draft = await submitted();
      const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/reject`, { json: { reason: "rude" } });
      expect([status, json.status, json.reason]).to.deep.equal([200, "rejected", "rude"]);
      const { json: thread } = await workspace.ask(`GET /v1/threads/${draft.thread_id}`);
      expect(thread.status).to.equal("open");
      for (const verb of ["approve", "reject", "send", "notify"]) {
        const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/${verb}`);
        expect(status, verb).to.equal(422);
        if (verb !== "notify") expect(json.error, verb).to.equal("invalid_status");
      }
      const long = await workspace.ask(`POST /v1/drafts/${draft.id}/reject`, { json: { reason: "x".repeat(2049) } });
      expect([long.status, long.json.error]).to.deep.equal([422, "invalid_request"]);
    });

    it("leaves decisions to people where the identity says so [d2 require_human_approval]", async () => {
      const strict = await service.identity(workspace.id, { requireHumanApproval: true });
      const draft = await submitted({}, strict);
      for (const verb of ["approve", "send"]) {
        const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/${verb}`);
        expect([status, json.error], verb).to.deep.equal([422, "human_approval_required"]);
      }
    });
  });

  describe("sending", () => {
    it("queues with 202, and the draft ends sent with its message on the thread [4 POST /v1/drafts/{id}/send] [3 pending -> sending] [3 sending -> sent]", async () => {
      const draft = await submitted();
      const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
      expect(status).to.equal(202);
      expect(json).to.deep.include({ draft_id: draft.id, thread_id: draft.thread_id, status: "sending" });
      expect(Date.parse(json.queued_at)).to.be.a("number");
      await until(async () => (await draftOf(draft.id)).status === "sent");
      const message = async () => (await workspace.ask(`GET /v1/threads/${draft.thread_id}`)).json.messages.at(-1);
      // The outbox is the mailbox: what it takes is delivered.
      await until(async () => (await message()).delivery_status === "delivered");
      expect(await message()).to.include({ direction: "outbound", draft_id: draft.id });
      const again = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
      expect([again.status, again.json.error]).to.deep.equal([422, "invalid_status"]);
    });

    it("refuses with 409 where a newer mail came; the draft is stale, names it, and can be rejected [4 stale detection] [3 pending -> stale] [7 409 stale_draft]", async () => {
      const draft = await submitted();
      const inReplyTo = `q${mails}@customer.example`;
      await service.deliver(identity.address, mail({ id: `s${mails}@customer.example`, inReplyTo, text: "Wait!" }));
      const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
      expect([status, json.error]).to.deep.equal([409, "stale_draft"]);
      const stale = await draftOf(draft.id);
      expect(stale).to.include({ status: "stale", newer_message_id: json.new_message_id });
      const again = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
      expect([again.status, again.json.error]).to.deep.equal([422, "invalid_status"]);
      const rejected = await workspace.ask(`POST /v1/drafts/${draft.id}/reject`);
      expect([rejected.status, rejected.json.status]).to.deep.equal([200, "rejected"]);
    });

    it("demands write:emails [5 write:emails]", async () => {
      const draft = await submitted();
      const key = await workspace.keyOf(["write:drafts", "read:threads"]);
      await service.caughtUp();
      const { status, json } = await workspace.ask(`POST /v1/drafts/${draft.id}/send`, { key });
      expect([status, json.error]).to.deep.equal([401, "insufficient_scope"]);
    });
  });

  describe("notifying", () => {
    it("needs a channel, and is throttled per draft [4 POST /v1/drafts/{id}/notify] [8 POST /drafts/{id}/notify] [7 429 rate_limited]", async () => {
      const draft = await submitted();
      const none = await workspace.ask(`POST /v1/drafts/${draft.id}/notify`);
      expect([none.status, none.json.error]).to.deep.equal([422, "invalid_request"]);
      const approvalChannel = { type: "email" as const, config: { to: "boss@customer.example" } };
      const asked = await service.identity(workspace.id, { approvalChannel });
      const other = await submitted({}, asked);
      const first = await workspace.ask(`POST /v1/drafts/${other.id}/notify`);
      expect(first.status).to.equal(200);
      expect(first.json).to.include({ draft_id: other.id, channel: "email" });
      const second = await workspace.ask(`POST /v1/drafts/${other.id}/notify`);
      expect([second.status, second.json.error]).to.deep.equal([429, "rate_limited"]);
      expect(Number(second.headers.get("retry-after"))).to.be.within(1, 60);
    });
  });

  it("answers alike for a draft of another workspace, a missing one and no id at all [5 404 of another workspace] [7 404 not_found]", async () => {
    const draft = await submitted();
    const stranger = await service.workspace();
    const bodies = new Set<string>();
    for (const id of [draft.id, "0193a0aa-0000-7000-8000-000000000009", "nonsense"]) {
      for (const line of [
        `GET /v1/drafts/${id}`,
        `PATCH /v1/drafts/${id}`,
        ...["approve", "reject", "send", "notify"].map((verb) => `POST /v1/drafts/${id}/${verb}`),
        ...["versions", "content", "history", "diff"].map((part) => `GET /v1/drafts/${id}/${part}`),
      ]) {
        const { status, json } = await stranger.ask(line);
        expect(status, line).to.equal(404);
        bodies.add(JSON.stringify({ ...json, request_id: "" }));
      }
    }
    expect([...bodies]).to.have.length(1);
  });
});
