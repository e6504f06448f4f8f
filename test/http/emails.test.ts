import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Identity, type InProcess, mail, until } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("direct sends over HTTP [d6 emails]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let cold: Identity;
  let count = 0;

  before(async () => {
    ({ service, tenant } = await startStory());
    cold = await tenant.newIdentity({ canSendCold: true });
  });
  after(() => service.stop());

  const send = (different: object = {}, { ask } = tenant) => {
    const to = [`new${++count}@customer.example`];
    const json = { identity_id: cold.id, to, subject: `Hello ${count}`, body_text: "We have news.", ...different };
    return ask("POST /v1/emails/send", { json });
  };
  const reply = (json: object, { ask } = tenant) =>
    ask("POST /v1/emails/reply", { json: { body_text: "Here is the answer.", ...json } });
  const draftOf = async ({ json }: { json: any }) => tenant.draftWithId(json.draft_id);
  /** Waits until the mail was sent and is on its thread; returns its draft. */
  async function sent(answer: { json: any }) {
    const draft = await (await draftOf(answer)).becomes("sent");
    await until(async () => (await tenant.thread(draft.thread_id)).status === "waiting");
    return draft;
  }

  describe("POST /v1/emails/send", () => {
    it("a direct mail opens a thread and is sent, authorised by exactly the key that asked [4 POST /v1/emails/send]", async () => {
      const answer = await send({ to: ["Ada@new.example", "bob@new.example"], metadata: { campaign: 7 } });
      const { status, json } = answer;
      expect(status, answer.text).to.equal(202);
      expect(json.status).to.equal("sending");
      expect(Date.parse(json.queued_at)).to.be.greaterThan(0);
      const draft = await sent(answer);
      expect(draft).to.deep.include({
        kind: "send",
        thread_id: json.thread_id,
        identity_id: cold.id,
        based_on_message_id: null,
        to: ["Ada@new.example", "bob@new.example"],
        metadata: { campaign: 7 },
        in_reply_to: null,
        auto_approved: null,
      });
      const key = (await tenant.ask("GET /v1/api-keys")).json.data.at(-1);
      expect(draft.decided_by).to.include({ decision: "approve", kind: "api_key", id: key.id, version: 1 });
      const history = await (await draftOf(answer)).history();
      const types = history.map(({ type }) => type);
      expect(types.slice(0, 2)).to.deep.equal(["DraftSubmitted", "DraftApproved"]);
      expect(types).to.include.members(["SendClaimed", "DraftQueued", "DraftSent"]);
      const decided = history.filter(({ type }) => /Submitted|Approved|Claimed|Queued/.test(type));
      for (const { type, actor } of decided) expect(actor, type).to.include({ kind: "api_key", id: key.id });
      const queued = history.find(({ type }) => type === "DraftQueued");
      expect(queued.data.authorisation).to.deep.equal({ kind: "approval", approved_version: 1 });
      const thread = await tenant.thread(json.thread_id);
      expect(thread).to.include({ status: "waiting", message_count: 1, identity_id: cold.id });
      expect(thread.messages[0]).to.include({ id: json.message_id, direction: "outbound" });
      expect(thread.messages[0].delivery_status).to.be.oneOf(["sent", "delivered"]);
      const { json: list } = await tenant.ask(`GET /v1/threads?identity_id=${cold.id}&limit=100`);
      expect(list.data.map(({ id }: any) => id)).to.include(json.thread_id);
    });

    it("an answer to a direct mail is filed on that mail's thread, and can be answered", async () => {
      const first = await send({ to: ["dora@new.example"], cc: ["eve@new.example"] });
      const { messages } = await tenant.thread((await sent(first)).thread_id);
      const from = "Dora <dora@new.example>";
      const answer = await tenant.mail({ to: cold, from, inReplyTo: messages[0].rfc_message_id.slice(1, -1) });
      const thread = await tenant.thread(first.json.thread_id);
      expect(thread).to.include({ status: "open", message_count: 2 });
      expect(thread.messages.map(({ direction }: any) => direction)).to.deep.equal(["outbound", "inbound"]);
      const contact = (await tenant.ask(`GET /v1/contacts/${thread.primary_contact_id}`)).json;
      expect(contact.email).to.equal("dora@new.example");
      const again = await reply({ thread_id: thread.id });
      expect(again.status).to.equal(202);
      expect(await sent(again)).to.deep.include({ to: ["dora@new.example"], cc: [], in_reply_to: `<${answer.id}>` });
      expect(again.json.thread_id).to.equal(thread.id);
    });

    it("a direct mail is refused if its identity may only reply or is disabled, or if sending is paused [4 POST /v1/emails/send] [7 422 identity_not_active]", async () => {
      const disabled = await tenant.newIdentity({ canSendCold: true, status: "disabled" });
      const pause = (sending_paused: boolean) => tenant.ask("PATCH /v1/workspaces/me", { json: { sending_paused } });
      const total = async () => (await tenant.ask("GET /v1/drafts")).json.total;
      const before = await total();
      expect((await send({ identity_id: tenant.identity.id })).outcome).to.equal("422 cold_send_not_allowed");
      expect((await send({ identity_id: disabled.id })).outcome).to.equal("422 identity_not_active");
      await pause(true);
      expect((await send()).json.error).to.equal("sending_paused");
      await pause(false);
      expect(await total()).to.equal(before);
    });

    it("a refused direct mail names the wrong field; another workspace's identity is not found", async () => {
      const stranger = await openTenant(service, { canSendCold: true });
      const wrong: [object, number, string][] = [
        [{ identity_id: stranger.identity.id }, 404, "identity_id"],
        [{ identity_id: randomUUID() }, 404, "identity_id"],
        [{ identity_id: "x" }, 422, "identity_id"],
        [{ to: [] }, 422, "to"],
        [{ to: ["a@x.example", "A@X.example"] }, 422, "to"],
        [{ to: ["a@x.example, b@x.example"] }, 422, "to[0]"],
        [{ to: "a@x.example" }, 422, "to"],
        [{ to: ["a@x.example"], bcc: ["a@x.example"] }, 422, "bcc"],
        [{ subject: "a\r\nBcc: b@x.example" }, 422, "subject"],
        [{ subject: undefined }, 422, "subject"],
        [{ body_text: undefined }, 422, "at least one of body_text"],
        [{ body_text: "x".repeat(256 * 1024 + 1) }, 422, "body_text"],
        [{ reply_all: true }, 422, "reply_all"],
        [{ attachments: [{ filename: "a", content_type: "text/plain", content: "%" }] }, 422, "attachments[0].content"],
      ];
      for (const [json, status, field] of wrong) {
        const answer = await send(json);
        expect(answer.status, JSON.stringify(json).slice(0, 100)).to.equal(status);
        expect(answer.json.message.startsWith(field), answer.json.message).to.equal(true);
      }
    });

    it("a direct mail waits for approval if the identity requires a person, and its approvers are asked", async () => {
      const to = `boss-${randomUUID().slice(0, 8)}@office.example`;
      const approvalChannel = { type: "email", config: { to } } as const;
      const guarded = await tenant.newIdentity({ canSendCold: true, requireHumanApproval: true, approvalChannel });
      const answer = await send({ identity_id: guarded.id });
      expect(answer.status).to.equal(202);
      expect(answer.json).to.include({ status: "pending", queued_at: null });
      const draft = await draftOf(answer);
      await draft.asked();
      const asked = (await service.outbox.newest(20)).filter(({ envelope }) => envelope.to.includes(to));
      expect(asked).to.have.length(1);
      expect(await draft.read()).to.include({ status: "pending", decided_by: null, kind: "send" });
      expect((await tenant.thread(draft)).status).to.equal("draft_pending");
      expect((await draft.ask("POST send")).json.error).to.equal("human_approval_required");

      const approval = await draft.approvalMail(to);
      const { pathname, search } = new URL(approval.link());
      const page = await tenant.ask(`GET ${pathname}${search}`, { key: null });
      expect(page.text).to.contain("We have news.");
      expect((await approval.press("approve")).status).to.equal(200);
      expect((await sent(answer)).decided_by.kind).to.equal("email_link");
    });

    it("a direct mail that its key may approve asks no approver", async () => {
      const to = `unasked-${randomUUID().slice(0, 8)}@office.example`;
      const approvalChannel = { type: "email", config: { to } } as const;
      const identity = await tenant.newIdentity({ canSendCold: true, approvalChannel });
      const answer = await send({ identity_id: identity.id });
      await sent(answer);
      const history = await (await draftOf(answer)).history();
      expect(history.map(({ type }) => type)).not.to.include("ApproversAsked");
    });
  });

  describe("POST /v1/emails/reply", () => {
    it("a direct reply goes to the sender of the newest message, in reply to it and with its subject [4 POST /v1/emails/reply]", async () => {
      const mail = await tenant.mail({ from: "Ann <ann@customer.example>" });
      const { subject } = await tenant.thread(mail);
      const answer = await reply({ thread_id: mail.threadId, cc: ["boss@x.example"], body_html: "<p>Hi</p>" });
      expect(answer.status, answer.text).to.equal(202);
      expect(answer.json).to.include({ thread_id: mail.threadId, status: "sending" });
      expect(await sent(answer)).to.deep.include({
        kind: "reply",
        based_on_message_id: mail.messageId,
        to: ["ann@customer.example"],
        cc: ["boss@x.example"],
        subject,
        in_reply_to: `<${mail.id}>`,
      });
      expect((await tenant.thread(mail)).messages.at(-1).id).to.equal(answer.json.message_id);
    });

    it("a direct reply goes to the address in Reply-To", async () => {
      const { threadId } = await tenant.mail({ headers: ["Reply-To: Desk <desk@customer.example>"] });
      const draft = await draftOf(await reply({ thread_id: threadId }));
      expect(draft.json.to).to.deep.equal(["desk@customer.example"]);
    });

    it("a reply to all leaves out only the service's own addresses and those given twice", async () => {
      const { address } = tenant.identity;
      const own = address.replace("@", "+tag@").toUpperCase();
      const headers = [
        `Cc: ${own}, Carl <carl@x.example>, copied@x.example, ann@customer.example`,
        `Reply-To: ann@customer.example, ${address}`,
        "MIME-Version:",
      ].join("\r\n");
      const written = mail({ id: `${randomUUID()}@customer.example`, to: `${address}, dan@x.example` });
      const { threadId } = await tenant.mail({ raw: written.replace("MIME-Version:", headers) });
      const more = { cc: ["eve@x.example"], bcc: ["copied@x.example"] };
      const { json } = await draftOf(await reply({ thread_id: threadId, reply_all: true, ...more }));
      expect(json.to).to.deep.equal(["ann@customer.example"]);
      expect(json.cc).to.deep.equal(["eve@x.example", "dan@x.example", "carl@x.example"]);
      expect(json.bcc).to.deep.equal(["copied@x.example"]);
    });

    it("a reply to a message that is not the newest is stale; one that names no message answers the newest [7 409 stale_draft]", async () => {
      const mail = await tenant.mail();
      const newest = await tenant.mail({ inReplyTo: mail, text: "One more thing." });
      const stale = await reply({ thread_id: mail.threadId, based_on_message_id: mail.messageId });
      expect(stale.status).to.equal(409);
      expect(stale.json).to.include({ error: "stale_draft", new_message_id: newest.messageId });
      const answer = await reply({ thread_id: mail.threadId });
      expect(answer.status).to.equal(202);
      expect((await draftOf(answer)).json.based_on_message_id).to.equal(newest.messageId);
      const { drafts } = await tenant.thread(mail);
      expect(drafts.filter(({ status }: any) => status === "stale")).to.have.length(1);
    });

    it("a reply needs a thread of this workspace with a received message, and a message of that thread", async () => {
      const { threadId: thread_id } = await tenant.mail();
      const other = await tenant.mail();
      const foreign = await (await openTenant(service)).mail();
      const wrong: [object, number, string][] = [
        [{ thread_id: foreign.threadId }, 404, "thread_id"],
        [{ thread_id: randomUUID() }, 404, "thread_id"],
        [{ thread_id, based_on_message_id: foreign.messageId }, 404, "based_on_message_id"],
        [{ thread_id, based_on_message_id: randomUUID() }, 404, "based_on_message_id"],
        [{ thread_id, based_on_message_id: other.messageId }, 422, "based_on_message_id"],
        [{ thread_id, cc: ["ann@customer.example"] }, 422, "cc"],
        [{ thread_id, to: ["x@x.example"] }, 422, "to"],
      ];
      for (const [json, status, field] of wrong) {
        const answer = await reply(json);
        expect(answer.status, JSON.stringify(json)).to.equal(status);
        expect(answer.json.message.startsWith(field), answer.json.message).to.equal(true);
      }
      const unanswered = (await send()).json.thread_id;
      expect((await reply({ thread_id: unanswered })).json).to.include({
        error: "invalid_request",
        field: "thread_id",
      });
    });

    it("a direct reply waits for approval if the identity requires a person", async () => {
      const guarded = await tenant.newIdentity({ requireHumanApproval: true });
      const { threadId, messageId } = await tenant.mail({ to: guarded });
      const answer = await reply({ thread_id: threadId, based_on_message_id: messageId });
      expect(answer.status).to.equal(202);
      expect(answer.json).to.include({ status: "pending", queued_at: null, thread_id: threadId });
      expect((await tenant.thread(threadId)).status).to.equal("draft_pending");
      expect((await draftOf(answer)).json.decided_by).to.equal(null);
    });

    it("a reply and a draft are refused while the identity's assistant is disabled [d8 assistants]", async () => {
      const assistant = (await tenant.ask("POST /v1/assistants", { json: { name: "A" } })).json;
      const become = (status: string) => tenant.ask(`PATCH /v1/assistants/${assistant.id}`, { json: { status } });
      const mail = await tenant.mail({ to: await tenant.newIdentity({ assistantId: assistant.id }) });
      await become("disabled");
      expect((await reply({ thread_id: mail.threadId })).outcome).to.equal("422 assistant_disabled");
      expect((await tenant.submit(mail)).json.error).to.equal("assistant_disabled");
      await become("active");
      expect((await reply({ thread_id: mail.threadId })).status).to.equal(202);
    });
  });

  it("direct mails and replies need write:emails [5 scopes]", async () => {
    const unable = tenant.withKey(await tenant.keyOf(["write:drafts", "write:identities"]));
    for (const answer of [await send({}, unable), await reply({ thread_id: randomUUID() }, unable)])
      expect(answer.json.error).to.equal("insufficient_scope");
  });
});
