import { expect } from "chai";
import { authenticateMessage } from "#src/commands/inbound/mailAuthentication.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { signMail } from "#src/mail/out/dkim.ts";
import { newDkimKeys } from "#src/mail/out/dkimKeys.ts";
import { type InboundMessage, threadStream } from "#streams/thread/events.ts";
import { system } from "#test/support/cause.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("the authentication of filed mail [d5 authentication]", () => {
  let dns: DnsServer;
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let sign: (raw: string) => Promise<Buffer>;
  let mails = 0;
  before(async () => {
    dns = await startDnsServer();
    service = await startInProcess({ DNS_SERVERS: dns.address });
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
    const { publicKey, privateKey } = await newDkimKeys();
    dns.txt("s1._domainkey.customer.example", `v=DKIM1; k=rsa; p=${publicKey}`);
    dns.txt("_dmarc.customer.example", "v=DMARC1; p=reject; adkim=s; aspf=s");
    sign = (raw) => signMail(Buffer.from(raw), { domain: "customer.example", selector: "s1", privateKey });
  });
  after(async () => {
    await service.stop();
    await dns.close();
  });

  const newId = () => `m${++mails}@customer.example`;
  const threadOf = async (rfcId: string): Promise<{ id: string; message: any }> => {
    const lookUp = () =>
      service.deps.reads
        .of(workspace.id)
        .query("select id, thread_id from messages where workspace_id = $1 and rfc_message_id = $2", [
          workspace.id,
          `<${rfcId}>`,
        ]);
    // A quarantined mail is on its thread a moment after its delivery.
    await until(async () => (await lookUp()).rows.length > 0);
    const { rows } = await lookUp();
    const { json } = await workspace.ask(`GET /v1/threads/${rows[0]?.thread_id}/messages?limit=100`);
    return { id: rows[0]?.thread_id, message: json.data.find(({ id }: { id: string }) => id === rows[0]?.id) };
  };
  const received = async (raw: string | Buffer, from?: string) => {
    await service.deliver(identity.address, raw, from === undefined ? {} : { from });
  };
  const authenticated = async (rfcId: string) => {
    let found = await threadOf(rfcId);
    await until(async () => {
      found = await threadOf(rfcId);
      return found.message.authentication !== null;
    });
    const { json: thread } = await workspace.ask(`GET /v1/threads/${found.id}`);
    return { authentication: found.message.authentication, thread, message: found.message };
  };
  /** Receives a mail without waiting for its filing. */
  const taken = async (raw: string) => {
    const { resolve, accept } = createReception(service.deps);
    const recipients = [{ recipient: (await resolve(identity.address))!, address: identity.address }];
    const remote = { ip: "192.0.2.1", helo: "mx.silent.example" };
    await accept({ recipients, from: "ann@customer.example", raw: Buffer.from(raw), remote });
  };
  const unauthenticated = (rfcIds: readonly string[]) =>
    service.deps.reads
      .of(workspace.id)
      .query("select from messages where workspace_id = $1 and rfc_message_id = any($2) and authentication is null", [
        workspace.id,
        rfcIds.map((rfcId) => `<${rfcId}>`),
      ]);
  const eventsOf = async (threadId: string) =>
    (await service.deps.store.read(threadStream(threadId))).filter(({ type }) => type === "MessageAuthenticated");

  it("a message shows its authentication, and its event says who wrote it", async () => {
    const id = newId();
    await received(await sign(mail({ id })));
    const { authentication, thread } = await authenticated(id);
    expect(authentication).to.deep.equal({ spf: "none", dkim: "pass", dmarc: "pass", aligned: true });
    expect(thread.needs_review).to.equal(false);
    const [event, ...more] = await eventsOf(thread.id);
    expect(more).to.deep.equal([]);
    expect(event!.data).to.deep.include({
      identityId: identity.id,
      classification: "person",
      fromEmail: "ann@customer.example",
      subject: "My order",
      contactStatus: "unknown",
    });
    expect(event!.data.authentication).to.include({ arc: "none", aligned: true });
  });

  it("a thread needs review if an unproven mail joins it, and not if it opens the thread", async () => {
    const opening = newId();
    await received(mail({ id: opening }));
    const first = await authenticated(opening);
    expect(first.authentication).to.include({ dmarc: "fail", aligned: false });
    expect(first.thread.needs_review, "a forged mail of its own joins nothing").to.equal(false);
    const proven = newId();
    await received(await sign(mail({ id: proven, inReplyTo: opening })));
    expect((await authenticated(proven)).thread.needs_review, "a proven one").to.equal(false);
    const forged = newId();
    const claims = "Authentication-Results: mx.agents.localhost; dmarc=pass header.from=customer.example\r\n";
    await received(claims + mail({ id: forged, inReplyTo: opening }));
    const { thread, authentication } = await authenticated(forged);
    expect(authentication).to.include({ dmarc: "fail", aligned: false });
    expect([thread.id, thread.needs_review]).to.deep.equal([first.thread.id, true]);
  });

  it("a mail is authenticated while many senders' DNS does not answer", async () => {
    const { authenticator } = service.deps;
    const { authenticate } = authenticator;
    let goOn = (): void => {};
    const silence = new Promise<void>((resolve) => (goOn = resolve));
    authenticator.authenticate = async (told, sender) => {
      if (sender.address?.endsWith("@silent.example")) await silence;
      return authenticate(told, sender);
    };
    const silent = Array.from({ length: sized(33, 40) }, newId);
    await Promise.all(silent.map((each) => taken(mail({ id: each, from: "x@silent.example" }))));
    const id = newId();
    await received(await sign(mail({ id })));
    expect((await authenticated(id)).authentication).to.include({ dmarc: "pass" });
    expect((await threadOf(silent[0] as string)).message.authentication).to.equal(null);
    goOn();
    await until(async () => (await unauthenticated(silent)).rows.length === 0);
    authenticator.authenticate = authenticate;
  });

  it("an unproven automatic reply does not make its thread need review", async () => {
    const [opening, answer] = [newId(), newId()];
    await received(await sign(mail({ id: opening })));
    await authenticated(opening);
    await received(`Auto-Submitted: auto-replied\r\n${mail({ id: answer, inReplyTo: opening })}`);
    const { thread, message } = await authenticated(answer);
    expect([message.classification, thread.needs_review]).to.deep.equal(["auto_reply", false]);
  });

  it("a mail is authenticated once, also if several handlers do it concurrently", async () => {
    const id = newId();
    dns.trouble("_dmarc.customer.example", "silent");
    await received(await sign(mail({ id })));
    const { id: threadId } = await threadOf(id);
    const all = await service.deps.store.read(threadStream(threadId));
    const event = all.find(({ type }) => type === "MessageReceived")!;
    const place = { threadId, revision: event.revision };
    const mailed = { threadId, message: event.data as InboundMessage, received: place };
    const again = () =>
      authenticateMessage(
        service.deps,
        { workspaceId: workspace.id, isOwnAddress: async () => false, ...mailed },
        system(),
      );
    const running = [again(), again(), again()];
    dns.trouble("_dmarc.customer.example", undefined);
    await Promise.all(running);
    await authenticated(id);
    await again();
    expect(await eventsOf(threadId)).to.have.length(1);
  });

  it("the authentication of a mail is recorded on the thread into which its thread was merged", async () => {
    const [one, two, both] = [newId(), newId(), newId()];
    await received(await sign(mail({ id: one })));
    await authenticated(one);
    dns.trouble("_dmarc.customer.example", "silent");
    await received(await sign(mail({ id: two })));
    const absorbed = (await threadOf(two)).id;
    const merging = mail({ id: both }).replace("MIME-Version", `References: <${one}> <${two}>\r\nMIME-Version`);
    await received(await sign(merging));
    const { json: merged } = await workspace.ask(`GET /v1/threads/${absorbed}`);
    expect(merged.merged_into).to.be.a("string");
    dns.trouble("_dmarc.customer.example", undefined);
    for (const id of [two, both]) expect((await authenticated(id)).message.thread_id).to.equal(merged.merged_into);
    expect(await eventsOf(absorbed)).to.have.length(0);
    expect(await eventsOf(merged.merged_into)).to.have.length(3);
  });

  it("a slow authentication delays neither filing nor sending", async () => {
    const id = newId();
    const { deps } = service;
    const real = deps.authenticator;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    deps.authenticator = { authenticate: (...asked) => held.then(() => real.authenticate(...asked)) };
    try {
      await received(await sign(mail({ id })));
      const { id: thread_id, message } = await threadOf(id);
      expect(message.authentication).to.equal(null);
      const body = { thread_id, identity_id: identity.id, based_on_message_id: message.id, body_text: "On its way." };
      const { json: draft } = await workspace.ask("POST /v1/drafts", { json: body });
      expect((await workspace.ask(`POST /v1/drafts/${draft.id}/approve`)).status).to.equal(200);
      expect((await workspace.ask(`POST /v1/drafts/${draft.id}/send`)).status).to.be.lessThan(300);
      await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
      expect((await threadOf(id)).message.authentication).to.equal(null);
    } finally {
      letGo();
      deps.authenticator = real;
    }
    expect((await authenticated(id)).authentication).to.include({ dmarc: "pass", aligned: true });
  });

  it("a mail is authenticated as temperror if DNS fails", async () => {
    const id = newId();
    dns.trouble("*", "servfail");
    try {
      await received(await sign(mail({ id })));
      const { authentication } = await authenticated(id);
      expect(authentication).to.deep.equal({ spf: "temperror", dkim: "temperror", dmarc: "temperror", aligned: false });
    } finally {
      dns.trouble("*", undefined);
    }
  });

  it("mail that cannot be read, and mail without a sender or with two, is authenticated too", async () => {
    const unreadable = newId();
    const parts = Array.from(
      { length: 120 },
      (_, n) => `--b\r\nContent-Disposition: attachment; filename=${n}\r\n\r\nx\r\n`,
    );
    const raw = mail({ id: unreadable, text: `${parts.join("")}--b--` });
    await received(await sign(raw.replace("text/plain; charset=utf-8", "multipart/mixed; boundary=b")));
    const { authentication, message } = await authenticated(unreadable);
    expect(message.body_text).to.equal(null);
    expect(authentication).to.include({ dkim: "pass", aligned: true });
    const nobody = newId();
    await received(mail({ id: nobody, from: "" }), "");
    expect((await authenticated(nobody)).authentication).to.include({ aligned: false });
    const two = newId();
    await received(`From: Boss <boss@customer.example>\r\n${await sign(mail({ id: two }))}`);
    expect((await authenticated(two)).authentication).to.include({ dkim: "pass", dmarc: "permerror", aligned: false });
  });

  it("an approval mail says whether the sender of the answered mail is verified", async () => {
    const approver = { type: "email", config: { to: "approver@office.example" } } as const;
    const own = await service.identity(workspace.id, { approvalChannel: approver });
    for (const [raw, said] of [
      [mail({ id: newId(), subject: "Forged" }), /sender NOT verified/],
      [await sign(mail({ id: newId(), subject: "Real" })), /sender verified/],
    ] as const) {
      await service.deliver(own.address, raw);
      const [, rfcId] = /^Message-ID: <(.*)>/m.exec(raw.toString())!;
      const { message } = await authenticated(rfcId!);
      const body = { thread_id: message.thread_id, identity_id: own.id, based_on_message_id: message.id };
      const { json: draft } = await workspace.ask("POST /v1/drafts", { json: { ...body, body_text: "Yes." } });
      let asked: any;
      await until(async () => {
        const newest = await service.outbox.newest(5);
        asked = newest.find(({ text }) => text.includes(draft.content_sha256.slice(0, 12)));
        return asked !== undefined;
      });
      expect(asked.text).to.match(said);
    }
  });
});
