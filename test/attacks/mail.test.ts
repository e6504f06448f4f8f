import { expect } from "chai";
import { pino } from "pino";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { createSmtpReceiver, type SmtpReceiver } from "#src/mail/in/smtpReceiver.ts";
import { corpus, hasCorpus } from "#test/mail/in/mails.ts";
import { emptyLines, headerMail, type SlowMail, slowMails } from "#test/mail/in/slowMails.ts";
import { startMail } from "#test/mail/in/smtpSender.ts";
import { inFull, sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { longestHold } from "#test/support/processorTime.ts";
import { rotated } from "#test/support/rotated.ts";
import { seeded } from "../../scripts/support/random.ts";

/** Mail as strangers may make it, over SMTP: each is accepted with 250, filed, shown without harm, and can be answered. */
describe("attacks by mail", function () {
  this.timeout(600_000);
  let service: InProcess;
  let smtp: SmtpReceiver;
  let tenant: Workspace;
  let identity: Identity;

  before(async () => {
    service = await startInProcess();
    tenant = await service.workspace();
    identity = await service.identity(tenant.id, {
      approvalChannel: { type: "email", config: { to: "boss@example.com" } },
    });
    const logger = pino({ level: "silent" });
    smtp = await createSmtpReceiver({ reception: createReception(service.deps), port: 0, host: "127.0.0.1", logger });
  });

  after(async () => {
    await smtp.close();
    await service.stop();
  });

  async function hand(raw: string | Buffer, ...to: string[]) {
    const sender = await startMail(smtp.port, to.length > 0 ? to : [identity.address]);
    const stuffed = Buffer.from(raw)
      .toString("latin1")
      .replace(/\r?\n|\r/g, "\r\n")
      .replace(/^\./gm, "..");
    await sender.write(Buffer.from(`${stuffed}\r\n.\r\n`, "latin1"));
    expect(await sender.reply()).to.match(/^250/);
    sender.hangUp("end");
  }

  const inbound = async () => {
    await service.caughtUp();
    const { rows } = await service.database.reads.ofAll.query("select * from inbound order by position");
    return rows as {
      disposition: string;
      filed_position: number | null;
      message_id: string | null;
      reason: string | null;
    }[];
  };
  const filed = () =>
    until(
      async () => (await inbound()).every((row) => row.filed_position !== null || row.disposition === "duplicate"),
      60_000,
    );

  const stored = async (id: string | null) => {
    const { rows } = await service.database.reads.ofAll.query("select id, thread_id from messages where id = $1", [id]);
    return rows[0] as { id: string; thread_id: string };
  };

  /** Returns the thread of a mail, by default the last one, and submits a draft that answers it and contains its id. */
  async function answered(given?: string | null) {
    await filed();
    const id = given === undefined ? (await inbound()).at(-1)!.message_id : given;
    const message = await stored(id);
    const thread = await tenant.ask(`GET /v1/threads/${message.thread_id}`);
    expect(thread.status, thread.text.slice(0, 300)).to.equal(200);
    const json = {
      thread_id: message.thread_id,
      identity_id: identity.id,
      based_on_message_id: id,
      body_text: `About ${id}.`,
    };
    return { message, thread: thread.json, draft: await tenant.ask("POST /v1/drafts", { json }) };
  }

  const forged: Record<string, string> = {
    "no header at all": "\r\nhello",
    "nothing but a dot": "..",
    "two From headers": `From: evil@x.example\r\n${mail({ id: "two@x" })}`,
    "thousands of References": `References: ${Array.from({ length: 5_000 }, (_, n) => `<${n}@x>`).join("\r\n ")}\r\n${mail({ id: "refs@x" })}`,
    "a subject of 100 KB": mail({ id: "subject@x", subject: `${"long ".repeat(20_000)}` }),
    "10,000 recipients": mail({
      id: "to@x",
      to: Array.from({ length: 10_000 }, (_, n) => `u${n}@x.example`).join(",\r\n "),
    }),
    "bidi and control characters": mail({
      id: "bidi@x",
      from: "\u202eelpmaxe\u2066\u0007\u001b[31m <a@b.example>",
      subject: "\u202egpj.exe\u0000\u0008",
    }),
    "a name that is markup": mail({
      id: "xss@x",
      from: '"</title><script>alert(1)</script>" <a@b.example>',
      subject: "<img src=x onerror=alert(1)>",
      text: "</div><form method=post action=//evil><button>Approve",
    }),
    "a Reply-To that hides recipients": `Reply-To: "a@b.example, c"@d.example, team: e@f.example;, <g@h.example>\r\n${mail({ id: "list@x" })}`,
    "a sender with odd characters": mail({ id: "odd@x", from: "x <a\\b'|%0d%0aBcc:x@d.example>" }),
    "an unknown charset and encoding":
      "Message-ID: <cs@x>\r\nFrom: a@b.example\r\nContent-Type: text/plain; charset=klingon-9\r\nContent-Transfer-Encoding: x-none\r\n\r\n\xff\xfe",
    "an invalid date": mail({ id: "date@x" }).replace(/Date: .*/, "Date: Mon, 99 Foo 99999 99:99:99 +9999"),
    "multiparts 2,000 deep": `Message-ID: <deep@x>\r\nFrom: a@b.example\r\n${Array.from({ length: 2_000 }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`).join("")}\r\nend`,
  };

  describe("malformed mail", () => {
    type Told = { status: number; text: string };
    type Story = Awaited<ReturnType<typeof answered>> & { page?: Told; sent?: Told };
    const stories = new Map<string, Story>();

    // All mails go through each step together, so that each step is waited for once.
    before(async () => {
      const others = (await inbound()).length;
      for (const raw of Object.values(forged)) await hand(raw);
      await filed();
      const rows = (await inbound()).slice(others);
      expect(rows, "one row for each").to.have.length(Object.keys(forged).length);
      for (const [n, name] of Object.keys(forged).entries()) stories.set(name, await answered(rows[n]!.message_id));
      const drafted = [...stories.values()].filter(({ draft }) => draft.status === 201);
      await untilAll(drafted, (draft) => draft.notification_status.state === "sent");
      const outbox = (await (await fetch(`${service.url}/outbox.json`)).json()) as any[];
      for (const story of drafted) {
        const asked = outbox.find(({ text }) => text.includes(`About ${story.message.id}.`));
        const link = new URL(/http\S+\/a\/[\w-]+/.exec(asked.text)![0]).pathname;
        const page = await fetch(service.url + link);
        story.page = { status: page.status, text: await page.text() };
        story.sent = await tenant.ask(`POST /v1/drafts/${story.draft.json.id}/send`);
      }
      await untilAll(drafted, ({ status }) => ["sent", "failed", "pending"].includes(status));
    });

    async function untilAll(those: readonly Story[], isSo: (draft: any) => boolean): Promise<void> {
      for (const { draft } of those)
        await until(async () => isSo((await tenant.ask(`GET /v1/drafts/${draft.json.id}`)).json));
    }

    for (const name of Object.keys(forged)) {
      it(`a mail with ${name} is filed and shown without harm, and its answer is sent or refused`, async () => {
        const { thread, draft, page, sent } = stories.get(name)!;
        expect([201, 422], draft.text.slice(0, 300)).to.include(draft.status);
        expect(JSON.stringify(thread).length).to.be.below(200_000);
        if (draft.status !== 201) return expect(draft.json.message).to.include("no sender to reply to");
        expect(page!.status).to.equal(200);
        expect(page!.text).not.to.match(/<script|<img|<form[^>]* action|\u202e/);
        expect(sent!.status, sent!.text).to.equal(202);
        const { status } = (await tenant.ask(`GET /v1/drafts/${draft.json.id}`)).json;
        expect(status).to.be.oneOf(["sent", "failed"]);
      });
    }
  });

  it("a mail to twenty addresses of one identity is read once, filed once and names what was not read", async () => {
    const { headerReader, parser } = service.deps;
    const { read } = headerReader;
    const { parse } = parser;
    let [headersRead, parsed] = [0, 0];
    headerReader.read = (...asked) => {
      headersRead += 1;
      return read(...asked);
    };
    parser.parse = (...asked) => {
      parsed += 1;
      return parse(...asked);
    };
    const tagged = Array.from({ length: 20 }, (_, n) => identity.address.replace("@", `+${n}@`));
    await hand(headerMail(), ...tagged);
    await filed();
    Object.assign(headerReader, { read });
    Object.assign(parser, { parse });
    const [first, ...others] = (await inbound()).slice(-20);
    expect([headersRead, parsed]).to.deep.equal([1, 1]);
    expect(first!.disposition).to.equal("threaded");
    expect(first!.reason).to.equal("only the first part of these was read: from, reply-to, to, cc");
    expect(new Set(others.map(({ disposition }) => disposition))).to.deep.equal(new Set(["duplicate"]));
    const { thread_id } = await stored(first!.message_id);
    expect((await tenant.ask(`GET /v1/threads/${thread_id}`)).json.needs_review).to.equal(true);
  });

  it("mail to one identity is filed and requests are answered while another is sent slow mail", async () => {
    const other = await service.identity(tenant.id);
    // test/mail/in/slowMails.test.ts has the other kinds and measures how long each delays others.
    const kinds = Object.values(slowMails).slice(0, sized(3, 6));
    const all = kinds.flatMap((mails, turn) => rotated<SlowMail>(mails(), turn, 1));
    const heldMs = await longestHold(async () => {
      for (const { raw } of [...all, { raw: emptyLines() }]) await hand(raw);
      await hand(mail({ id: "innocent@customer.example", to: other.address }), other.address);
      expect((await fetch(`${service.url}/healthz`)).status).to.equal(200);
      await filed();
    });
    expect(heldMs, "milliseconds that the event loop was held").to.be.below(3_000);
    const { reason } = (await inbound()).find(({ reason }) => reason?.includes("lines were read"))!;
    expect(reason).to.match(/^only its first \d+ lines were read$/);
  });

  it("a draft whose customer wrote again is not sent, behind 100 KB of recipients and while slow mail is read", async () => {
    const recipients = Array.from({ length: 1_700 }, (_, n) => `somebody.number.${n}@a-long-name.customer.example`);
    const padding = `To: ${recipients.join(",\r\n ")}\r\n`;
    await hand(mail({ id: "asked@customer.example" }));
    const { draft, message } = await answered();
    expect(draft.status).to.equal(201);
    for (const { raw } of slowMails.htmls().slice(0, sized(2, 5))) await hand(raw);
    const word = mail({ id: "word@customer.example", inReplyTo: "asked@customer.example" });
    await hand(padding + word);
    // The same message again, over another server.
    await hand(`Received: from elsewhere.example\r\n${padding}${word}`);
    let sent = await tenant.ask(`POST /v1/drafts/${draft.json.id}/send`);
    // On a busy machine the request may time out before the mail is read: then nothing is sent either.
    while (sent.status === 503) sent = await tenant.ask(`POST /v1/drafts/${draft.json.id}/send`);
    expect([sent.status, sent.json.error]).to.deep.equal([409, "stale_draft"]);
    await filed();
    const [first, again] = (await inbound()).slice(-2);
    expect((await stored(first!.message_id)).thread_id).to.equal(message.thread_id);
    expect(again!.disposition).to.equal("duplicate");
  });

  it("a forged Message-ID of the service, or one made for another identity, does not put a mail into the thread", async () => {
    await hand(mail({ id: "real@customer.example" }));
    const { message } = await answered();
    const other = await service.identity(tenant.id);
    const origin = { threadId: message.thread_id, attemptId: message.id, domain: "agents.localhost" };
    const ours = service.deps.messageIds.mint({ ...origin, identityId: identity.id });
    const wrong = ours.replace(/.@/, (end) => (end === "A@" ? "Q@" : "A@"));
    for (const [id, to] of [
      [wrong, identity.address],
      [ours, other.address],
    ] as const) {
      await hand(mail({ id: `forged-${to}`, inReplyTo: id.slice(1, -1), to }), to);
      await filed();
      const forgery = await stored((await inbound()).at(-1)!.message_id);
      expect(forgery.thread_id).not.to.equal(message.thread_id);
    }
    await hand(mail({ id: "true@x", inReplyTo: ours.slice(1, -1) }));
    expect((await answered()).message.thread_id).to.equal(message.thread_id);
  });

  it("real mail with random broken bytes is filed, quarantined or recognised as a duplicate", async function () {
    if (!hasCorpus("mime") || !hasCorpus("automatic")) return this.skip();
    const random = seeded(5);
    const [mimes, automatic] = inFull ? [60, 20] : [15, 5];
    const sources = [...corpus("mime").slice(0, mimes), ...corpus("automatic").slice(0, automatic)];
    const before = (await inbound()).length;
    for (const { raw } of sources) {
      const broken = Buffer.from(raw);
      for (let n = 0; n < 10; n++) broken[Math.floor(random() * broken.length)] = Math.floor(random() * 256);
      await hand(broken);
    }
    await filed();
    const rows = (await inbound()).slice(before);
    expect(rows.length).to.equal(sources.length);
    expect(
      rows.filter(({ disposition }) => !["threaded", "duplicate", "quarantined"].includes(disposition)),
    ).to.deep.equal([]);
    for (let offset = 0; offset < sources.length; offset += 100) {
      expect((await tenant.ask(`GET /v1/threads?limit=100&offset=${offset}`)).status).to.equal(200);
    }
    const parked = await service.database.query("select process, error from work.parked");
    expect(parked.rows).to.deep.equal([]);
  });
});
