import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { draftStream } from "#streams/draft/events.ts";
import { threadStream } from "#streams/thread/events.ts";
import { isAskedAbout } from "#test/support/approvalMail.ts";
import { asking } from "#test/support/asking.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

const mark = "[approval link removed]";
const agents = ["read:threads", "write:drafts", "read:identities", "read:events"];

type Asked = { id: string; token: string; link: string; stopLink: string; rfcMessageId: string };

/** An approver, or the approver's mailbox, forwards an approval mail to the agent's address. */
describe("approval links in mail to the agent", () => {
  let service: InProcess;
  let tenant: Workspace;
  let agent: Workspace["ask"];
  let identity: Identity;
  let stranger: Workspace;
  let strangers: Identity;
  let basedOn: { thread_id: string; based_on_message_id: string; identity_id: string };

  before(async () => {
    service = await startInProcess();
    tenant = await service.workspace();
    agent = asking(service.url, await tenant.keyOf(agents));
    const approvalChannel = { type: "email", config: { to: "boss@example.com" } } as const;
    identity = await service.identity(tenant.id, { approvalChannel, canSendCold: true });
    stranger = await service.workspace();
    strangers = await service.identity(stranger.id);
    await service.deliver(identity.address, mail({ id: "q@customer.example" }));
    const [thread] = (await tenant.ask("GET /v1/threads")).json.data;
    const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
    basedOn = { thread_id: thread.id, based_on_message_id: messages[0].id, identity_id: identity.id };
  });

  after(() => service.stop());

  /** Submits a draft that waits for a person, and returns the link to approve it. */
  async function asked(): Promise<Asked> {
    const json = { ...basedOn, body_text: `Hello ${randomBytes(6).toString("hex")}` };
    const { id } = (await tenant.ask("POST /v1/drafts", { json })).json;
    let found: { text: string; messageId: string } | undefined;
    await until(async () => {
      found = (await service.outbox.newest(500)).find(({ text }) => isAskedAbout(text, json.body_text));
      return found !== undefined;
    });
    const link = /http\S+\/a\/[\w-]{43}\?d=approve/.exec(found!.text)![0];
    const stopLink = /http\S+\/stop\/\S+/.exec(found!.text)![0];
    return { id, link, stopLink, token: new URL(link).pathname.slice(3), rfcMessageId: found!.messageId.slice(1, -1) };
  }

  const page = async ({ token }: Asked, init: RequestInit = {}) => {
    const response = await fetch(`${service.url}/a/${token}`, init);
    return { status: response.status, text: await response.text() };
  };
  const nonceOf = (text: string): string => /name="nonce" value="([^"]*)"/.exec(text)![1]!;
  const closed = async ({ id }: Asked) => (await service.deps.drafts.load(id)).state.notified.closed;

  const html = (body: string) => ["MIME-Version: 1.0", "Content-Type: text/html; charset=utf-8", "", body].join("\r\n");
  const headed = (content: string) =>
    [`Message-ID: <${randomBytes(8).toString("hex")}@boss>`, "From: boss@example.com", "Subject: Fwd", content].join(
      "\r\n",
    );
  const gateway = (link: string) =>
    `https://links.example/?url=${encodeURIComponent(encodeURIComponent(link))}&amp;data=05`;
  const decoys = () => Array.from({ length: 1_001 }, () => randomBytes(32).toString("base64url")).join("\r\n\r\n");
  const forwards: Record<string, (asked: Asked) => string> = {
    "as text": ({ link }) =>
      mail({ id: `${randomBytes(8).toString("hex")}@boss`, subject: "Fwd", text: `See ${link} .` }),
    "in an address alone, rewritten by a gateway": ({ link }) =>
      headed(html(`<p>See <a href="${gateway(link)}">here</a>.`)),
    "behind 1,001 decoys": ({ link }) =>
      mail({ id: `${randomBytes(8).toString("hex")}@boss`, text: `${decoys()}\r\n\r\n${link}` }),
  };
  for (const [how, forward] of Object.entries(forwards)) {
    it(`an approval link in mail to the agent is hidden from the agent: ${how}`, async () => {
      const draft = await asked();
      const nonce = nonceOf((await page(draft)).text);
      const raw = forward(draft);
      await service.deliver(identity.address, raw);
      const [entry] = (await agent("GET /v1/inbound")).json.data;
      const message = (
        await agent(`GET /v1/threads/${(await agent("GET /v1/threads")).json.data[0].id}`)
      ).json.messages.at(-1);
      expect([message.id, message.approval_link_removed]).to.deep.equal([entry.message_id, true]);
      expect([message.body_text, message.body_html].join(), how).to.include(mark);
      const events = await agent("GET /v1/events?limit=100");
      for (const shown of [JSON.stringify(message), events.text]) expect(shown).not.to.include(draft.token);
      // Searched as one phrase, because a hyphen in front means exclusion.
      const searched = encodeURIComponent(`"${draft.token}"`);
      expect((await agent(`GET /v1/threads?q=${searched}`)).json.total).to.equal(0);
      for (const line of [`GET /v1/messages/${message.id}/raw`, `GET /v1/inbound/${entry.id}/raw`] as const) {
        const refused = await agent(line);
        expect([refused.status, refused.json.error], line).to.deep.equal([401, "insufficient_scope"]);
        expect((await tenant.ask(line)).bytes.equals(Buffer.from(raw)), line).to.equal(true);
      }
      // The mail has more tokens than are looked up: the last link still works, and only a person who may decide can read the mail.
      if (how.includes("decoys")) return;
      expect(Object.values(await closed(draft))).to.deep.equal([{ because: "link_leaked", messageId: message.id }]);
      const pressed = await page(draft, { method: "POST", body: new URLSearchParams({ decision: "approve", nonce }) });
      for (const answer of [await page(draft), pressed]) {
        expect([answer.status, answer.text.includes("This link was closed")]).to.deep.equal([410, true]);
      }
      expect((await agent(`GET /v1/drafts/${draft.id}`)).json.status).to.equal("pending");
    });
  }

  it("approval links in a header or in base64 of a gateway's link are closed", async () => {
    const drafts = [await asked(), await asked()] as const;
    const gateway = `https://gw.example/?u=${Buffer.from(drafts[1].link).toString("base64url")}`;
    await service.deliver(
      identity.address,
      headed(`In-Reply-To: <${drafts[0].token}@boss.example>\r\n${html(`<a href="${gateway}">x</a>`)}`),
    );
    const [thread] = (await agent("GET /v1/threads")).json.data;
    const message = (await agent(`GET /v1/threads/${thread.id}`)).json.messages.at(-1);
    expect([message.in_reply_to, message.approval_link_removed]).to.deep.equal([
      `<${drafts[0].token}@boss.example>`,
      true,
    ]);
    expect(message.body_html).to.include(`?u=${mark}"`);
    for (const draft of drafts) expect((await page(draft)).status).to.equal(410);
  });

  it("a link that stops the service's mail is hidden and closed, so that an agent cannot stop requests", async () => {
    const { stopLink, id } = await asked();
    await service.deliver(identity.address, mail({ id: `stop-${id}@boss`, subject: "Fwd", text: `See ${stopLink} .` }));
    const [thread] = (await agent("GET /v1/threads")).json.data;
    const message = (await agent(`GET /v1/threads/${thread.id}`)).json.messages.at(-1);
    expect([message.body_text.includes(`/stop/${mark} .`), message.approval_link_removed]).to.deep.equal([true, true]);
    expect((await agent(`GET /v1/messages/${message.id}/raw`)).json.error).to.equal("insufficient_scope");
    const closed = await (await fetch(`${service.url}${new URL(stopLink).pathname}`)).text();
    expect(closed).to.include("This link was closed").and.not.include("Stop this mail");
    // The next mail to the same mailbox has a link that works.
    const next = await (await fetch(`${service.url}${new URL((await asked()).stopLink).pathname}`)).text();
    expect(next).to.include("Stop this mail");
  });

  it("links to people's accounts in mail to the agent are hidden and no longer work", async () => {
    const { links } = service.deps.accounts;
    for (const [kind, page] of [
      ["reset", "reset"],
      ["invitation", "invitation"],
      ["email", "new-email"],
      ["confirm", "confirm"],
    ] as const) {
      const token = await links.issue({ kind, subject: `${kind} of ana`, about: {}, address: "ana@boss.example" });
      const text = `Fwd: ${service.url}/${page}/${token}-- see`;
      await service.deliver(identity.address, mail({ id: `${randomBytes(8).toString("hex")}@boss`, text }));
      const [thread] = (await agent("GET /v1/threads")).json.data;
      const message = (await agent(`GET /v1/threads/${thread.id}`)).json.messages.at(-1);
      expect([message.body_text.includes(`/${page}/${mark}`), message.approval_link_removed], page).to.deep.equal([
        true,
        true,
      ]);
      expect((await agent(`GET /v1/messages/${message.id}/raw`)).json.error, page).to.equal("insufficient_scope");
      const fault = await links.find(kind, token).catch((error) => error.fault);
      expect(fault, page).to.equal("replaced");
    }
  });

  it("an approval link in an attached mail is closed, and the attachment needs the right to decide", async () => {
    const draft = await asked();
    const enclosed = [
      "Subject: Approve?",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64",
      "",
      Buffer.from(draft.link).toString("base64"),
    ];
    const parts = [
      "--b",
      "Content-Type: text/plain",
      "",
      "See below.",
      "--b",
      "Content-Type: message/rfc822",
      `Content-Disposition: attachment; filename="${draft.token}.eml"`,
      "",
      ...enclosed,
      "--b--",
    ];
    await service.deliver(
      identity.address,
      headed(["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="b"', "", ...parts].join("\r\n")),
    );
    const [entry] = (await agent("GET /v1/inbound")).json.data;
    const [thread] = (await agent("GET /v1/threads")).json.data;
    const message = (await agent(`GET /v1/threads/${thread.id}`)).json.messages.at(-1);
    const [attachment] = message.attachments;
    expect([message.id, message.approval_link_removed, attachment.filename]).to.deep.equal([
      entry.message_id,
      true,
      `${mark}.eml`,
    ]);
    expect(Object.keys(await closed(draft))).to.have.length(1);
    const line = `GET /v1/messages/${message.id}/attachments/${attachment.id}` as const;
    expect((await agent(line)).json.error).to.equal("insufficient_scope");
    expect((await tenant.ask(line)).text).to.include("Subject: Approve?");
  });

  it("an approval link of another workspace is closed, and its events do not say where it was found", async () => {
    const draft = await asked();
    await service.deliver(
      strangers.address,
      mail({ id: `${draft.id}@x`, subject: `Fwd ${draft.link}`, text: draft.link }),
    );
    const [thread] = (await stranger.ask("GET /v1/threads")).json.data;
    const [message] = (await stranger.ask(`GET /v1/threads/${thread.id}`)).json.messages;
    expect([thread.subject, message.subject, message.body_text].map((text) => text.includes(mark))).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect((await page(draft)).status).to.equal(410);
    const told = JSON.stringify(await service.store.read(draftStream(draft.id)));
    expect(told).to.include("ApprovalLinkClosed");
    for (const secret of [stranger.id, strangers.id, message.id, thread.id]) expect(told).not.to.include(secret);
  });

  it("a filing that fails after it closed an approval link is repeated with the same result", async () => {
    const draft = await asked();
    const { threads } = service.deps;
    const { handle } = threads;
    const closedByThen: number[] = [];
    threads.handle = async (...given) => {
      const [, command] = given;
      if (typeof command !== "function" && command.type === "FileMessage") {
        closedByThen.push(Object.keys(await closed(draft)).length);
        if (closedByThen.length === 1) throw new Unavailable("cut off");
      }
      return handle(...given);
    };
    try {
      await service.deliver(
        identity.address,
        mail({ id: `${draft.id}@boss`, inReplyTo: "q@customer.example", text: `> ${draft.link}` }),
      );
    } finally {
      threads.handle = handle;
    }
    expect(closedByThen)
      .to.have.length.above(1)
      .and.satisfy((all: number[]) => all.every((count) => count === 1));
    const message = (await agent(`GET /v1/threads/${basedOn.thread_id}`)).json.messages.at(-1);
    expect([message.body_text.includes(mark), message.approval_link_removed]).to.deep.equal([true, true]);
    expect(JSON.stringify(await service.store.read(threadStream(basedOn.thread_id)))).not.to.include(draft.token);
    expect(Object.keys(await closed(draft))).to.have.length(1);
  });

  it("approval links in held mail are closed before its raw form is shown, and removed at its release", async () => {
    const draft = await asked();
    const held = await service.identity(tenant.id);
    await tenant.ask(`PATCH /v1/identities/${held.id}`, { json: { status: "disabled" } });
    await service.deliver(
      held.address,
      mail({ id: "held-link@boss", subject: `Fwd ${draft.token}`, text: draft.link }),
    );
    await service.deliver(held.address, mail({ id: "held-plain@boss" }));
    const [plain, entry] = (await agent("GET /v1/inbound")).json.data;
    expect(entry.disposition).to.equal("held_identity_disabled");
    expect((await agent(`GET /v1/inbound/${plain.id}/raw`)).status).to.equal(200);
    expect((await agent(`GET /v1/inbound/${entry.id}/raw`)).json.error).to.equal("insufficient_scope");
    expect((await page(draft)).status).to.equal(410);
    await tenant.ask(`PATCH /v1/identities/${held.id}`, { json: { status: "active" } });
    const threads = async (): Promise<any[]> => (await agent(`GET /v1/threads?identity_id=${held.id}`)).json.data;
    await until(async () => (await threads()).length === 2);
    expect((await threads()).map(({ subject }) => subject)).to.include(`Fwd ${mark}`);
  });

  it("an approval link of a decided draft is removed from the mail, and no event is recorded", async () => {
    const draft = await asked();
    await tenant.ask(`POST /v1/drafts/${draft.id}/reject`, { json: { reason: "no" } });
    await service.deliver(
      identity.address,
      mail({ id: `late-${draft.id}@boss`, inReplyTo: "q@customer.example", text: draft.link }),
    );
    const message = (await agent(`GET /v1/threads/${basedOn.thread_id}`)).json.messages.at(-1);
    expect([message.body_text.includes(mark), await closed(draft)]).to.deep.equal([true, {}]);
  });

  it("a resent approval mail is kept and not filed, its link still works, and another workspace does not see it", async () => {
    const draft = await asked();
    const resent = `Resent-From: boss@example.com\r\n${mail({ id: draft.rfcMessageId, text: draft.link })}`;
    const count = async (ask: Workspace["ask"]): Promise<number> => (await ask("GET /v1/threads")).json.total;
    const before = [
      await count(tenant.ask),
      await count(stranger.ask),
      (await stranger.ask("GET /v1/inbound")).json.total,
    ];
    await service.deliver(identity.address, resent);
    await service.deliver(strangers.address, resent);
    const [entry] = (await agent("GET /v1/inbound")).json.data;
    expect([entry.disposition, entry.identity_id, entry.message_id]).to.deep.equal([
      "approval_reply",
      identity.id,
      null,
    ]);
    expect((await agent(`GET /v1/inbound/${entry.id}/raw`)).json.error).to.equal("insufficient_scope");
    expect((await tenant.ask(`GET /v1/inbound/${entry.id}/raw`)).text).to.equal(resent);
    const after = [
      await count(tenant.ask),
      await count(stranger.ask),
      (await stranger.ask("GET /v1/inbound")).json.total,
    ];
    expect(after).to.deep.equal(before);
    expect((await page(draft)).status).to.equal(200);
  });

  describe("approval links in a reply to the approval mail", () => {
    const says = (asked: Asked, answers: string) =>
      mail({
        id: `${randomBytes(8).toString("hex")}@boss`,
        inReplyTo: answers,
        text: `APPROVE. Yes, send it!\r\n\r\n> ${asked.link}\r\n> ${asked.link.replace("approve", "reject")}`,
      });
    const statusOf = async ({ id }: Asked) => (await agent(`GET /v1/drafts/${id}`)).json.status;
    /** Returns the events that recorded a mail with these bytes. */
    const received = async (raw: string) => {
      const sql = "select type, data from es.events where type in ('ApprovalReplyReceived', 'MailReceived')";
      const { rows } = await service.database.query<{ type: string; data: { rawSha256: string; workspaceId: string } }>(
        sql,
      );
      const sha256 = createHash("sha256").update(raw).digest("hex");
      return rows
        .filter(({ data }) => data.rawSha256 === sha256)
        .map(({ type, data }) => ({ type, workspaceId: data.workspaceId }));
    };

    it("a reply to an approval mail decides nothing, its raw form needs the right to decide, and its link still works", async () => {
      const draft = await asked();
      const raw = says(draft, draft.rfcMessageId);
      await service.deliver(service.deps.settings.approvalsFrom, raw, { from: "boss@example.com" });
      const [entry] = (await agent("GET /v1/inbound")).json.data;
      expect([entry.disposition, entry.identity_id]).to.deep.equal(["approval_reply", identity.id]);
      expect((await agent(`GET /v1/inbound/${entry.id}/raw`)).json.error).to.equal("insufficient_scope");
      expect([await statusOf(draft), await closed(draft)]).to.deep.equal(["pending", {}]);
      expect((await page(draft)).status).to.equal(200);
    });

    it("a reply with an unknown Message-ID to the approvals address is in no workspace's list and decides nothing", async () => {
      const draft = await asked();
      const before = (await tenant.ask("GET /v1/inbound")).json.total;
      const raw = says(draft, "changed.by.the@gateway.example");
      await service.deliver(service.deps.settings.approvalsFrom, raw, { from: "boss@example.com" });
      expect(await received(raw)).to.deep.equal([{ type: "ApprovalReplyReceived", workspaceId: null }]);
      expect((await tenant.ask("GET /v1/inbound")).json.total).to.equal(before);
      expect([await statusOf(draft), await closed(draft)]).to.deep.equal(["pending", {}]);
      expect((await page(draft)).status).to.equal(200);
    });

    it("a reply that goes to the agent's address closes its link, and the approver is asked again", async () => {
      const draft = await asked();
      await service.deliver(identity.address, says(draft, "changed.by.the@gateway.example"), {
        from: "boss@example.com",
      });
      expect([await statusOf(draft), (await page(draft)).status]).to.deep.equal(["pending", 410]);
      const requests = async () =>
        (await service.store.read(draftStream(draft.id))).filter(({ type }) => type === "ApproversNotified").length;
      await until(async () => (await requests()) === 2);
    });
  });

  it("a mail from one agent of the service to another is filed", async () => {
    const subject = `From agent to agent ${randomBytes(4).toString("hex")}`;
    const json = { identity_id: identity.id, to: [strangers.address], subject, body_text: "Hello" };
    expect((await tenant.ask("POST /v1/emails/send", { json })).status).to.be.lessThan(300);
    let id: string | undefined;
    await until(async () => {
      const sent = (await service.outbox.newest(500)).find((each) => each.subject === subject);
      id = sent?.messageId.slice(1, -1);
      return id !== undefined;
    });
    await service.deliver(strangers.address, mail({ id: id!, subject }));
    const [thread] = (await stranger.ask("GET /v1/threads")).json.data;
    expect(thread.subject).to.equal(subject);
  });
});
