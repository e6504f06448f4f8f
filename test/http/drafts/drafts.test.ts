import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect } from "chai";
import { inFull } from "#test/support/full.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

const missingId = "0193a0aa-0000-7000-8000-000000000001";
const sha256 = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);

describe("http: submitting and reading drafts", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  it("a submitted draft is answered 201, is pending, and its thread waits for a decision [4 POST /v1/drafts] [3 (none) -> pending] [3 thread -> draft_pending]", async () => {
    const metadata = { camelCase: { a: 1 } };
    const said = { rationale: "asked", metadata, cc: ["cc@x.example"] };
    const mail = await tenant.mail();
    // Otherwise the warning about its sender may come between two reads.
    await tenant.lastMessage(mail, ({ authentication }) => authentication !== null);
    const submitted = await tenant.draft(mail, said);
    const { warnings, ...draft } = submitted.json;
    expect(warnings).to.deep.equal([]);
    expect(draft).to.include({
      ...{ status: "pending", version: 1, body_text: "On its way.", rationale: "asked", workspace_id: tenant.id },
      ...{ stale_warning: false, newer_message_id: null, answered_meanwhile: null, auto_approved: null },
    });
    expect(draft.to).to.deep.equal(["ann@customer.example"]);
    expect(draft.cc).to.deep.equal(["cc@x.example"]);
    expect(draft.metadata).to.deep.equal(metadata);
    expect(draft.actions.edit).to.equal(`PATCH /v1/drafts/${draft.id}`);
    const thread = await tenant.thread(submitted);
    expect(thread.status).to.equal("draft_pending");
    expect(thread.drafts).to.deep.equal([draft]);
    const read = await submitted.ask("GET");
    expect(read.json).to.deep.equal(draft);
    expect(read.headers.get("etag")).to.equal('"1"');
  });

  it("a second draft on the same message warns of the first while that is pending, and names it", async () => {
    const mail = await tenant.mail();
    const [first, second] = [await tenant.draft(mail), await tenant.draft(mail)];
    expect(first.json.warnings).to.deep.equal([]);
    expect(second.json.warnings).to.deep.equal([
      `another draft on the same message is pending (draft_id ${first.id}): reject one of them`,
    ]);
    await first.reject();
    const [warning] = (await tenant.draft(mail)).json.warnings;
    expect(warning).to.include(second.id).and.not.to.include(first.id);
  });

  it("a draft on a message that was answered already warns, and names the mail, its time and who approved it", async () => {
    const mail = await tenant.mail();
    const [answer, waiting] = [await tenant.draft(mail), await tenant.draft(mail)];
    const sent = await answer.send();
    const late = (await tenant.draft(mail)).json;
    const earlier = late.answered_meanwhile;
    expect(earlier.by.kind).to.equal("api_key");
    expect(Date.parse(earlier.at)).to.be.closeTo(Date.parse(sent.queued_at), 5_000);
    expect(late.warnings[0]).to.equal(
      `the message was already answered, from ${earlier.from_email}, at ${earlier.at} (message_id ${earlier.message_id}): do not answer it twice`,
    );
    expect((await waiting.read()).answered_meanwhile).to.deep.equal(earlier);
    expect((await answer.read()).answered_meanwhile).to.equal(null);
    const { messages } = await tenant.thread(mail);
    const [reply] = messages.filter((message: any) => message.direction === "outbound");
    expect(reply.id).to.equal(earlier.message_id);
  });

  it("a draft's hash is the hash of exactly the content that is shown", async () => {
    const draft = await tenant.draft(await tenant.mail(), {
      ...{ body_text: "On its way.", body_html: "<p>On its way.</p>", bcc: ["b@x.example"] },
    });
    const content = await draft.content();
    expect(sha256(canonicalize(content) as string)).to.equal(draft.json.content_sha256);
    expect(content.from).to.deep.equal({ name: "Support", address: tenant.identity.address });
  });

  it("a draft keeps a body that is too large for an event", async () => {
    const body_text = `${"a line of text\n".repeat(10_000)}end`;
    const draft = await tenant.draft(await tenant.mail(), { body_text });
    expect(draft.json.body_text).to.equal(body_text);
    expect((await draft.read()).body_text).to.equal(body_text);
    expect((await draft.ask("GET content?version=1")).json.body_text).to.equal(body_text);
  });

  it("a draft with an id that is not this workspace's is refused with the field's name, alike for a stranger's and a missing id", async () => {
    const mail = await tenant.mail();
    for (const field of ["thread_id", "identity_id", "based_on_message_id"]) {
      const { outcome, json } = await tenant.submit(mail, { [field]: missingId });
      expect(outcome, field).to.equal("404 not_found");
      expect(json.message).to.match(new RegExp(`^${field}: `));
    }
    const stranger = await openTenant(service);
    const { status, json } = await stranger.submit(mail);
    expect([status, json.message]).to.deep.equal([404, "thread_id: no such thread"]);
  });

  it("a draft with an identity or a message of another thread is refused", async () => {
    const mail = await tenant.mail();
    const elsewhere = await tenant.mail({ to: await tenant.newIdentity() });
    for (const field of ["identity_id", "based_on_message_id"] as const) {
      const { outcome } = await tenant.submit(mail, { [field]: elsewhere.basis[field] });
      expect(outcome, field).to.equal("422 invalid_request");
    }
  });

  it("a draft that breaks a rule is refused with the field's name, and nothing is stored [4 drafts create body] [7 422 invalid_request]", async () => {
    const mail = await tenant.mail();
    const cases: [names: string, content: Record<string, unknown>][] = [
      ["body_text", { body_text: undefined }],
      ["body_text", { body_text: "" }],
      ["cc[0]", { cc: ["Ann <ann@x.example>"] }],
      ["cc[0]", { cc: ["a@x.example,b@x.example"] }],
      ["cc", { cc: Array(51).fill("a@x.example") }],
      ["cc", { cc: ["ANN@customer.example"] }],
      ["bcc", { cc: ["a@x.example"], bcc: ["A@X.example"] }],
      ["subject_override", { subject_override: "a\r\nBcc: b@x.example" }],
      ["body_text", { body_text: "x".repeat(256 * 1024 + 1) }],
      ["rationale", { rationale: "x".repeat(8 * 1024 + 1) }],
      ["metadata", { metadata: { a: "x".repeat(8192) } }],
      ["metadata", { metadata: [] }],
      ["subject", { subject: "x" }],
      ["thread_id", { thread_id: 7 }],
    ];
    for (const [names, content] of cases) {
      const { outcome, json } = await tenant.submit(mail, content);
      expect(outcome, names).to.equal("422 invalid_request");
      expect(json.message).to.contain(names);
    }
    expect((await tenant.ask(`GET /v1/drafts?thread_id=${mail.threadId}`)).json.total).to.equal(0);
  });

  it("a draft with metadata, a body and a rationale of exactly the largest sizes is accepted [8 draft metadata]", async () => {
    const metadata = { a: "x".repeat(8192 - '{"a":""}'.length) };
    const largest = { metadata, body_text: "ü".repeat(128 * 1024), rationale: "r".repeat(8192) };
    const draft = await tenant.draft(await tenant.mail(), largest);
    expect(draft.json.metadata).to.deep.equal(metadata);
  });

  it("a draft whose customer wrote again is accepted with a warning [4 stale detection]", async () => {
    const mail = await tenant.mail();
    const newer = await tenant.mail({ inReplyTo: mail, text: "Hello?" });
    const { json } = await tenant.draft(mail);
    expect(json.stale_warning).to.equal(true);
    expect(json.newer_message_id).to.equal(newer.messageId);
    expect((await tenant.thread(mail)).messages.at(-1).id).to.equal(newer.messageId);
  });

  const file = (bytes: Buffer, different = {}) => ({
    ...{ filename: "Rechnung ü.pdf", content_type: "application/pdf", content: bytes.toString("base64") },
    ...different,
  });

  it("a draft's attachments are kept by their hash and shown with the draft", async () => {
    const bytes = Buffer.from("%PDF-1.7");
    const { json } = await tenant.draft(await tenant.mail(), { attachments: [file(bytes)] });
    expect(json.attachments).to.deep.equal([
      { filename: "Rechnung ü.pdf", content_type: "application/pdf", sha256: sha256(bytes) },
    ]);
  });

  it("a draft may have ten attachments, of 10 MB each and 25 MB together", async () => {
    const large = Buffer.alloc(10 * 1024 * 1024, 1);
    const rest = Buffer.alloc(5 * 1024 * 1024);
    const [small, tooLarge] = [Buffer.from("a"), Buffer.concat([large, Buffer.from("a")])];
    // All of 25 MB goes through POST /v1/emails/send in any run (attachments.test.ts).
    const attachments = inFull ? [file(large), file(large), file(rest)] : [file(large)];
    await tenant.draft(await tenant.mail(), { attachments });
    const mail = await tenant.mail();
    const cases: [names: string, attachments: object[]][] = [
      ["attachments", Array(11).fill(file(small))],
      ["attachments[0].content", [file(tooLarge)]],
      ["attachments[0].content", [file(small, { content: "a?b=" })]],
      ["attachments[0].content_type", [file(small, { content_type: "pdf" })]],
      ["attachments[0].content_type", [file(small, { content_type: "multipart/mixed" })]],
      ["attachments[0].filename", [file(small, { filename: "a\nb" })]],
    ];
    const moreThanAll = [file(large), file(large), file(Buffer.concat([rest, small]))];
    if (inFull) cases.push(["attachments", moreThanAll]);
    for (const [names, attachments] of cases) {
      const { outcome, json } = await tenant.submit(mail, { attachments });
      expect(outcome, names).to.equal("422 invalid_request");
      expect(json.message).to.contain(names);
    }
    if (!inFull) return;
    const request = await tenant.submit(mail, { attachments: Array(3).fill(file(Buffer.alloc(9.9 * 1024 * 1024))) });
    expect(request.outcome).to.equal("413 payload_too_large");
  });

  it("drafts are listed by thread, identity and status, newest first, and none for an unknown id [4 GET /v1/drafts]", async () => {
    const mail = await tenant.mail();
    const [first, second] = [await tenant.draft(mail), await tenant.draft(mail, { body_html: "<p>other</p>" })];
    const listed = async (query: string) => (await tenant.ask(`GET /v1/drafts?${query}`)).json;
    expect(idsOf(await listed(`thread_id=${mail.threadId}&status=pending`))).to.deep.equal([second.id, first.id]);
    expect((await listed(`thread_id=${missingId}`)).total).to.equal(0);
    expect((await listed(`thread_id=${mail.threadId}&status=sent`)).total).to.equal(0);
    expect(idsOf(await listed("limit=1"))).to.deep.equal([second.id]);
  });

  it("a draft of another workspace, a missing one and no id at all are answered alike [5 404 of another workspace] [7 404 not_found]", async () => {
    const draft = await tenant.draft(await tenant.mail());
    const stranger = await service.workspace();
    const bodies = new Set<string>();
    for (const id of [draft.id, missingId, "nonsense"]) {
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
