import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { nonceIn } from "./approvalPages/server.ts";

type Identity = { id: string; address: string };

describe("direct sends over HTTP [d6 emails]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let cold: Identity;
  let plain: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    cold = await service.identity(workspace.id, { canSendCold: true });
    plain = await service.identity(workspace.id);
  });
  after(() => service.stop());

  const send = (different: Record<string, unknown> = {}, key?: string) =>
    workspace.ask("POST /v1/emails/send", {
      ...(key && { key }),
      json: {
        identity_id: cold.id,
        to: [`new${++mails}@customer.example`],
        subject: `Hello ${mails}`,
        body_text: "We have news.",
        ...different,
      },
    });
  const reply = (json: Record<string, unknown>) =>
    workspace.ask("POST /v1/emails/reply", { json: { body_text: "Here is the answer.", ...json } });
  const draftOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
  const threadOf = async (id: string) => (await workspace.ask(`GET /v1/threads/${id}`)).json;
  const sent = async (draftId: string) => {
    await until(async () => (await draftOf(draftId)).status === "sent");
    await until(async () => (await threadOf((await draftOf(draftId)).thread_id)).status === "waiting");
    return draftOf(draftId);
  };

  /** A thread with one mail, and that message. */
  async function received(raw: Parameters<typeof mail>[0] | Record<string, never> = {}, headers = "", to = plain) {
    const number = ++mails;
    const id = `r${number}@customer.example`;
    const text = mail({ id, subject: `Question ${number}`, to: to.address, ...raw });
    await service.deliver(to.address, text.replace("MIME-Version:", `${headers}MIME-Version:`));
    // By its subject: a reply that leaves in this moment makes another thread the newest.
    const { json } = await workspace.ask(`GET /v1/threads?identity_id=${to.id}&limit=20`);
    const subject = (raw as { subject?: string }).subject ?? `Question ${number}`;
    const thread = await threadOf(json.data.find((each: any) => each.subject === subject).id);
    return { id, thread, message: thread.messages.at(-1) };
  }

  describe("POST /v1/emails/send", () => {
    it("a direct mail opens a thread and is sent, authorised by exactly the key that asked [4 POST /v1/emails/send]", async () => {
      const { status, json } = await send({ to: ["Ada@new.example", "bob@new.example"], metadata: { campaign: 7 } });
      expect(status, JSON.stringify(json)).to.equal(202);
      expect(json.status).to.equal("sending");
      expect(Date.parse(json.queued_at)).to.be.greaterThan(0);
      const draft = await sent(json.draft_id);
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
      const key = (await workspace.ask("GET /v1/api-keys")).json.data.at(-1);
      expect(draft.decided_by).to.include({ decision: "approve", kind: "api_key", id: key.id, version: 1 });
      const { json: history } = await workspace.ask(`GET /v1/drafts/${draft.id}/history`);
      const types = history.data.map(({ type }: any) => type);
      expect(types.slice(0, 2)).to.deep.equal(["DraftSubmitted", "DraftApproved"]);
      expect(types).to.include.members(["SendClaimed", "DraftQueued", "DraftSent"]);
      const decided = history.data.filter(({ type }: any) => /Submitted|Approved|Claimed|Queued/.test(type));
      for (const { type, actor } of decided) expect(actor, type).to.include({ kind: "api_key", id: key.id });
      const queued = history.data.find(({ type }: any) => type === "DraftQueued");
      expect(queued.data.authorisation).to.deep.equal({ kind: "approval", approved_version: 1 });
      const thread = await threadOf(json.thread_id);
      expect(thread).to.include({ status: "waiting", message_count: 1, identity_id: cold.id });
      expect(thread.messages[0]).to.include({ id: json.message_id, direction: "outbound" });
      expect(thread.messages[0].delivery_status).to.be.oneOf(["sent", "delivered"]);
      const { json: list } = await workspace.ask(`GET /v1/threads?identity_id=${cold.id}&limit=100`);
      expect(list.data.map(({ id }: any) => id)).to.include(json.thread_id);
    });

    it("an answer to a direct mail is filed on that mail's thread, and can be answered", async () => {
      const { json } = await send({ to: ["dora@new.example"], cc: ["eve@new.example"] });
      const { messages } = await threadOf((await sent(json.draft_id)).thread_id);
      const rfcId = messages[0].rfc_message_id.slice(1, -1);
      await service.deliver(
        cold.address,
        mail({ id: "dora1@new.example", from: "Dora <dora@new.example>", inReplyTo: rfcId, subject: "Re: Hello" }),
      );
      const thread = await threadOf(json.thread_id);
      expect(thread).to.include({ status: "open", message_count: 2 });
      expect(thread.messages.map(({ direction }: any) => direction)).to.deep.equal(["outbound", "inbound"]);
      const contact = (await workspace.ask(`GET /v1/contacts/${thread.primary_contact_id}`)).json;
      expect(contact.email).to.equal("dora@new.example");
      const { status, json: again } = await reply({ thread_id: json.thread_id });
      expect(status).to.equal(202);
      const answered = await sent(again.draft_id);
      expect(answered).to.deep.include({ to: ["dora@new.example"], cc: [], in_reply_to: "<dora1@new.example>" });
      expect(again.thread_id).to.equal(json.thread_id);
    });

    it("a direct mail is refused if its identity may only reply or is disabled, or if sending is paused [4 POST /v1/emails/send] [7 422 identity_not_active]", async () => {
      const disabled = await service.identity(workspace.id, { canSendCold: true, status: "disabled" });
      const before = (await workspace.ask("GET /v1/drafts")).json.total;
      const refused: [Record<string, unknown>, string][] = [
        [{ identity_id: plain.id }, "cold_send_not_allowed"],
        [{ identity_id: disabled.id }, "identity_not_active"],
      ];
      for (const [json, error] of refused) {
        const answer = await send(json);
        expect(answer.status).to.equal(422);
        expect(answer.json.error).to.equal(error);
      }
      await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: true } });
      expect((await send()).json.error).to.equal("sending_paused");
      await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
      expect((await workspace.ask("GET /v1/drafts")).json.total).to.equal(before);
    });

    it("a refused direct mail names the wrong field; another workspace's identity is not found", async () => {
      const stranger = await service.workspace();
      const theirs = await service.identity(stranger.id, { canSendCold: true });
      const wrong: [Record<string, unknown>, number, string][] = [
        [{ identity_id: theirs.id }, 404, "identity_id"],
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
      const guarded = await service.identity(workspace.id, {
        canSendCold: true,
        requireHumanApproval: true,
        approvalChannel: { type: "email", config: { to } },
      });
      const { status, json } = await send({ identity_id: guarded.id });
      expect(status).to.equal(202);
      expect(json).to.include({ status: "pending", queued_at: null });
      await until(async () => (await draftOf(json.draft_id)).notification_status.state === "sent");
      const asked = (await service.outbox.newest(20)).filter(({ envelope }) => envelope.to.includes(to));
      expect(asked).to.have.length(1);
      expect(await draftOf(json.draft_id)).to.include({ status: "pending", decided_by: null, kind: "send" });
      expect((await threadOf(json.thread_id)).status).to.equal("draft_pending");
      const byKey = await workspace.ask(`POST /v1/drafts/${json.draft_id}/send`);
      expect(byKey.json.error).to.equal("human_approval_required");

      // What the approver is shown answers nothing, and leaves once approved.
      const link = /\/a\/[\w-]+\?d=approve/.exec(asked[0]?.text ?? "")?.[0];
      const page = await workspace.ask(`GET ${link}`, { key: null });
      expect(page.text).to.contain("We have news.");
      const response = await fetch(service.url + link!.split("?")[0], {
        method: "POST",
        body: new URLSearchParams({ decision: "approve", nonce: nonceIn(page.text, "approve") }),
      });
      expect(response.status).to.equal(200);
      expect((await sent(json.draft_id)).decided_by.kind).to.equal("email_link");
    });

    it("a direct mail that its key may approve asks no approver", async () => {
      const to = `unasked-${randomUUID().slice(0, 8)}@office.example`;
      const channel = { type: "email" as const, config: { to } };
      const identity = await service.identity(workspace.id, { canSendCold: true, approvalChannel: channel });
      const { json } = await send({ identity_id: identity.id });
      await sent(json.draft_id);
      const { json: history } = await workspace.ask(`GET /v1/drafts/${json.draft_id}/history`);
      expect(history.data.map(({ type }: any) => type)).not.to.include("ApproversAsked");
    });
  });

  describe("POST /v1/emails/reply", () => {
    it("a direct reply goes to the sender of the newest message, in reply to it and with its subject [4 POST /v1/emails/reply]", async () => {
      const { thread, message, id } = await received({
        id: "ann1@customer.example",
        from: "Ann <ann@customer.example>",
      });
      const { status, json } = await reply({ thread_id: thread.id, cc: ["boss@x.example"], body_html: "<p>Hi</p>" });
      expect(status, JSON.stringify(json)).to.equal(202);
      expect(json).to.include({ thread_id: thread.id, status: "sending" });
      const draft = await sent(json.draft_id);
      expect(draft).to.deep.include({
        kind: "reply",
        based_on_message_id: message.id,
        to: ["ann@customer.example"],
        cc: ["boss@x.example"],
        subject: thread.subject,
        in_reply_to: "<ann1@customer.example>",
      });
      expect(id).to.be.a("string");
      expect((await threadOf(thread.id)).messages.at(-1).id).to.equal(json.message_id);
    });

    it("a direct reply goes to the address in Reply-To", async () => {
      const { thread } = await received({} as never, "Reply-To: Desk <desk@customer.example>\r\n");
      const draft = await draftOf((await reply({ thread_id: thread.id })).json.draft_id);
      expect(draft.to).to.deep.equal(["desk@customer.example"]);
    });

    it("a reply to all leaves out only the service's own addresses and those given twice", async () => {
      const headers = [
        `Cc: ${plain.address.replace("@", "+tag@").toUpperCase()}, Carl <carl@x.example>, copied@x.example, ann@customer.example`,
        `Reply-To: ann@customer.example, ${plain.address}`,
        "",
      ].join("\r\n");
      const { thread } = await received({ id: `all${++mails}@x`, to: `${plain.address}, dan@x.example` }, headers);
      const { json } = await reply({
        thread_id: thread.id,
        reply_all: true,
        cc: ["eve@x.example"],
        bcc: ["copied@x.example"],
      });
      const draft = await draftOf(json.draft_id);
      expect(draft.to).to.deep.equal(["ann@customer.example"]);
      expect(draft.cc).to.deep.equal(["eve@x.example", "dan@x.example", "carl@x.example"]);
      expect(draft.bcc).to.deep.equal(["copied@x.example"]);
    });

    it("a reply to a message that is not the newest is stale; one that names no message answers the newest [7 409 stale_draft]", async () => {
      const { id, thread, message } = await received();
      await service.deliver(plain.address, mail({ id: `later${++mails}@x`, inReplyTo: id, text: "One more thing." }));
      const newest = (await threadOf(thread.id)).messages.at(-1);
      const stale = await reply({ thread_id: thread.id, based_on_message_id: message.id });
      expect(stale.status).to.equal(409);
      expect(stale.json).to.include({ error: "stale_draft", new_message_id: newest.id });
      const { status, json } = await reply({ thread_id: thread.id });
      expect(status).to.equal(202);
      expect((await draftOf(json.draft_id)).based_on_message_id).to.equal(newest.id);
      const drafts = (await threadOf(thread.id)).drafts.map(({ status }: any) => status);
      expect(drafts.filter((each: string) => each === "stale")).to.have.length(1);
    });

    it("a reply needs a thread of this workspace with a received message, and a message of that thread", async () => {
      const { thread } = await received();
      const other = await received();
      const stranger = await service.workspace();
      const theirs = await service.identity(stranger.id);
      await service.deliver(theirs.address, mail({ id: `t${++mails}@x` }));
      const foreign = (await stranger.ask("GET /v1/threads")).json.data[0].id;
      const foreignMessage = (await stranger.ask(`GET /v1/threads/${foreign}`)).json.messages[0].id;
      const wrong: [Record<string, unknown>, number, string][] = [
        [{ thread_id: foreign }, 404, "thread_id"],
        [{ thread_id: randomUUID() }, 404, "thread_id"],
        [{ thread_id: thread.id, based_on_message_id: foreignMessage }, 404, "based_on_message_id"],
        [{ thread_id: thread.id, based_on_message_id: randomUUID() }, 404, "based_on_message_id"],
        [{ thread_id: thread.id, based_on_message_id: other.message.id }, 422, "based_on_message_id"],
        [{ thread_id: thread.id, cc: ["ann@customer.example"] }, 422, "cc"],
        [{ thread_id: thread.id, to: ["x@x.example"] }, 422, "to"],
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
      const guarded = await service.identity(workspace.id, { requireHumanApproval: true });
      const { thread, message } = await received({} as never, "", guarded);
      const { status, json } = await reply({ thread_id: thread.id, based_on_message_id: message.id });
      expect(status).to.equal(202);
      expect(json).to.include({ status: "pending", queued_at: null, thread_id: thread.id });
      expect((await threadOf(thread.id)).status).to.equal("draft_pending");
      expect((await draftOf(json.draft_id)).decided_by).to.equal(null);
    });

    it("a reply and a draft are refused while the identity's assistant is disabled [d8 assistants]", async () => {
      const assistant = (await workspace.ask("POST /v1/assistants", { json: { name: "A" } })).json;
      const identity = await service.identity(workspace.id, { assistantId: assistant.id });
      const { thread, message } = await received({} as never, "", identity);
      await workspace.ask(`PATCH /v1/assistants/${assistant.id}`, { json: { status: "disabled" } });
      const refused = await reply({ thread_id: thread.id });
      expect(refused.status).to.equal(422);
      expect(refused.json.error).to.equal("assistant_disabled");
      const json = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id, body_text: "x" };
      expect((await workspace.ask("POST /v1/drafts", { json })).json.error).to.equal("assistant_disabled");
      await workspace.ask(`PATCH /v1/assistants/${assistant.id}`, { json: { status: "active" } });
      expect((await reply({ thread_id: thread.id })).status).to.equal(202);
    });
  });

  it("direct mails and replies need write:emails [5 scopes]", async () => {
    const key = await workspace.keyOf(["write:drafts", "write:identities"]);
    await service.caughtUp();
    expect((await send({}, key)).json.error).to.equal("insufficient_scope");
    const json = { thread_id: randomUUID(), body_text: "x" };
    expect((await workspace.ask("POST /v1/emails/reply", { json, key })).json.error).to.equal("insufficient_scope");
  });
});
