import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { messageById } from "#projections/messages/queries.ts";
import { readEvents, readWholeLog, Unavailable } from "#src/eventStore/eventStore.ts";
import { type SigningKey, signMail } from "#src/mail/out/dkim.ts";
import { type InboxEvent, inboxStream } from "#streams/inbox/events.ts";
import { type CorpusFile, corpus, fixture, fixtureNames, hasCorpus } from "#test/mail/in/mails.ts";
import { startSender } from "#test/mail/in/smtpSender.ts";
import { asking } from "#test/support/asking.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { inFull, itInFull, sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import {
  type FormField,
  type FormPost,
  formPost,
  inboundFields,
  inboundPost,
} from "#test/support/sendGrid/inboundForm.ts";
import { startService } from "#test/support/service.ts";
import { settingsOn } from "#test/support/settings.ts";
import { freePort } from "../../scripts/support/freePort.ts";

const asInit = ({ body, headers }: FormPost) => ({ body: Uint8Array.from(body), headers });
const secret = "inbound-secret-one";
const older = "inbound-secret-zero";

describe("mail that SendGrid posts", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let dns: DnsServer;
  let smtpPort: number;

  before(async () => {
    [dns, smtpPort] = await Promise.all([startDnsServer(), freePort()]);
    service = await startInProcess({
      ...{ SENDGRID_INBOUND_SECRET: `${secret},${older}`, LOG_LEVEL: "silent" },
      ...{ SMTP_IN_PORT: String(smtpPort), DNS_SERVERS: dns.address },
    });
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(async () => {
    await service.stop();
    await dns.close();
  });

  const post = async ({ body, headers }: FormPost, path = `/hooks/sendgrid/inbound/${secret}`) => {
    const answer = await fetch(`${service.url}${path}`, { method: "POST", ...asInit({ body, headers }) });
    return { status: answer.status, json: (await answer.json()) as any, retryAfter: answer.headers.get("retry-after") };
  };
  const ledger = async (query = ""): Promise<any[]> => {
    await service.caughtUp();
    return (await workspace.ask(`GET /v1/inbound?limit=100${query}`)).json.data;
  };
  const filed = (count: number) =>
    until(async () => {
      const all = await ledger(`&identity_id=${identity.id}`);
      return all.length >= count && all.every(({ disposition }) => disposition !== "received");
    });
  const strays = async () => {
    const found: any[] = [];
    for await (const { events } of readWholeLog(service.store, ["strayMail"])) found.push(...events);
    return found;
  };
  const received = () => readEvents<InboxEvent>(service.store, inboxStream(identity.id));

  it("a posted mail is filed with its identity, byte for byte, with the sending server's address and its envelope", async () => {
    const raw = Buffer.concat([Buffer.from(mail({ id: "latin@x.example" })), Buffer.from([0xe9, 0x00, 0xff, 0x0a])]);
    const { status } = await post(inboundPost({ raw, to: [identity.address], ip: "198.51.100.7" }));
    expect(status).to.equal(200);
    await filed(1);
    const [entry] = await ledger();
    expect(entry.envelope).to.deep.equal({ from: "ann@customer.example", to: identity.address });
    const answer = await workspace.ask(`GET /v1/inbound/${entry.id}/raw`);
    expect(answer.bytes.equals(raw)).to.equal(true);
    const [event] = await received();
    expect(event?.data.remote).to.deep.equal({ ip: "198.51.100.7", helo: "" });
    expect((await workspace.ask("GET /v1/threads")).json.total).to.equal(1);
  });

  it("a post needs the secret or the older one in its path; any other path is answered 404", async () => {
    const form = inboundPost({ raw: mail({ id: "stranger@x.example" }), to: [identity.address] });
    const before = (await received()).length;
    const unknown = await post(form, "/hooks/nothing");
    for (const path of ["wrong", `${secret}x`, secret.toUpperCase(), "%00", `${secret}/`, `${secret}/x`, ""]) {
      const { status, json } = await post(form, `/hooks/sendgrid/inbound/${path}`);
      expect([status, json.error, json.message], path).to.deep.equal([404, unknown.json.error, unknown.json.message]);
    }
    const got = await fetch(`${service.url}/hooks/sendgrid/inbound/${secret}`);
    expect(got.status).to.equal(404);
    expect(await received()).to.have.length(before);
    expect((await post(form, `/hooks/sendgrid/inbound/${older}`)).status).to.equal(200);
    await filed(before + 1);
  });

  it("a posted mail is delivered to each recipient once; mail to unknown addresses is kept for the operator", async () => {
    const disabled = await service.identity(workspace.id);
    await workspace.ask(`PATCH /v1/identities/${disabled.id}`, { json: { status: "disabled" } });
    const approvals = service.deps.settings.approvalsFrom;
    const tagged = identity.address.replace("@", "+tag@").toUpperCase();
    const to = [tagged, "nobody@agents.localhost", disabled.address, approvals, "nobody@elsewhere.example", tagged];
    const before = (await received()).length;
    const { status, json } = await post(inboundPost({ raw: mail({ id: "many@x.example" }), to }));
    expect([status, json]).to.deep.equal([200, { recipients: 3, unknown: 2 }]);
    await filed(before + 1);
    expect(await received()).to.have.length(before + 1);
    const held = async () => (await ledger(`&identity_id=${disabled.id}`)).map(({ disposition }) => disposition);
    await until(async () => (await held())[0] !== "received");
    expect(await held()).to.deep.equal(["held_identity_disabled"]);
    const kept = (await strays()).map(({ type, data }) => [type, data.envelope.to, data.workspaceId]);
    expect(kept).to.deep.equal([
      ["UnknownRecipientReceived", "nobody@agents.localhost", null],
      ["UnknownRecipientReceived", "nobody@elsewhere.example", null],
    ]);
  });

  it("a mail that is posted many times in parallel is filed once, and kept once for an unknown address", async () => {
    const raw = mail({ id: "again@x.example" });
    const to = [identity.address, "again@agents.localhost"];
    const many = sized(12, 50);
    const before = (await received()).length;
    const answers = await Promise.all(Array.from({ length: many }, () => post(inboundPost({ raw, to }))));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
    await filed(before + many);
    const entries = (await ledger(`&identity_id=${identity.id}`)).slice(0, many);
    expect(new Set(entries.map(({ message_id }) => message_id)).size).to.equal(1);
    expect(entries.filter(({ disposition }) => disposition === "threaded")).to.have.length(1);
    expect((await strays()).filter(({ data }) => data.envelope.to === to[1])).to.have.length(1);
  });

  const email = Buffer.from(mail({ id: "odd@x.example" }));
  const whole = (): FormField[] => inboundFields({ raw: email, to: [identity.address] });
  const without = (name: string): FormField[] => whole().filter(([each]) => each !== name);
  const envelope = (value: string): FormPost => formPost([...without("envelope"), ["envelope", value]]);

  it("a post that cannot be read is answered 200 and quarantined once, with the reason and its bytes", async () => {
    const cases: [why: RegExp, form: FormPost][] = [
      [/no field email$/, formPost(without("email"))],
      [/parsed mail instead .*send_raw/, formPost([...without("email"), ["text", "Hello"], ["headers", "From: x"]])],
      [/no field envelope/, formPost(without("envelope"))],
      [/more than one field email/, formPost([...whole(), ["email", "Subject: another\r\n\r\n"]])],
      [/more than one field envelope/, formPost([...whole(), ["envelope", '{"to":["x@y.example"]}']])],
      ...[
        "no json",
        "null",
        "[]",
        "{}",
        '{"to":[]}',
        '{"to":"a@b.example"}',
        '{"to":[7]}',
        '{"to":["a@b.example"],"from":7}',
      ].map((value): [RegExp, FormPost] => [/names no recipients/, envelope(value)]),
      [
        /more than 1000 recipients/,
        envelope(JSON.stringify({ to: Array.from({ length: 1_001 }, (_, n) => `${n}@x.example`) })),
      ],
      [/breaks off/, formPost(whole(), { end: "" })],
      [/breaks off/, { ...formPost(whole()), body: formPost(whole()).body.subarray(0, 300) }],
      [
        /more than 200 parts/,
        formPost([...Array.from({ length: 201 }, (_, n): FormField => [`f${n}`, ""]), ...whole()]),
      ],
      [
        /not multipart/,
        { body: Buffer.from("email=x&envelope=y"), headers: { "content-type": "application/x-www-form-urlencoded" } },
      ],
      [/not multipart/, { body: Buffer.from("{}"), headers: { "content-type": "application/json" } }],
      [/divided by/, { ...formPost(whole()), headers: { "content-type": "multipart/form-data" } }],
      [
        /breaks off|no field/,
        {
          body: Buffer.from([0, 1, 2, 255]),
          headers: { "content-type": "multipart/form-data; boundary=b", "content-encoding": "gzip" },
        },
      ],
      [
        /character set/,
        formPost([
          ...without("email"),
          ["email", Buffer.from([0x61, 0xe9, 0x62]), ["Content-Type: text/plain; charset=utf-8"]],
        ]),
      ],
      [
        /breaks off|no field/,
        { body: Buffer.alloc(0), headers: { "content-type": "multipart/form-data; boundary=b" } },
      ],
    ];
    for (const [why, form] of cases) {
      const before = await strays();
      const { status, json } = await post(form);
      expect([status, Object.keys(json)], String(why)).to.deep.equal([200, ["quarantined"]]);
      const [kept, ...more] = (await strays()).slice(before.length);
      expect(kept, String(why)).to.include({ type: "PostQuarantined" });
      expect(kept.data.reason).to.match(why);
      expect(more).to.have.length(0);
      expect((await service.deps.blobs.get(kept.data.rawSha256))?.equals(form.body), String(why)).to.equal(true);
      await post(form);
      expect(await strays(), "kept once").to.have.length(before.length + 1);
    }
  });

  it("the operator can list the mail that is in no inbox and read its bytes", async () => {
    const run = (...args: string[]) => runHere("inbound", args, { NODE_ENV: "test", ...settingsOn(service.urls) });
    const turned = "My \u202eredro\u200b";
    const subject = `=?utf-8?B?${Buffer.from(turned).toString("base64")}?=`;
    await post(inboundPost({ raw: mail({ id: "turned@x.example", subject }), to: ["turned@agents.localhost"] }));
    const { out, code, err } = await run("list");
    expect(code, err).to.equal(0);
    // Characters that reverse others or are invisible are escaped for the terminal.
    expect(out)
      .to.include("My \\u202eredro\\u200b")
      .and.not.match(/[\u202e\u200b]/);
    const listed = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const all = await strays();
    expect(listed.map(({ id }) => id)).to.deep.equal(all.map(({ data }) => data.deliveryId));
    const unread = listed.find(({ disposition }) => disposition === "quarantined");
    expect(unread).to.include({ reason: "the post has no field email", workspace_id: null });
    expect(unread.envelope).to.deep.equal({ from: "ann@customer.example", to: [identity.address] });
    const nobody = listed.find(({ disposition }) => disposition === "unknown_recipient");
    expect(nobody).to.include({ subject: "My order", from: "ann@customer.example", sender_ip: "192.0.2.1" });
    expect(nobody.envelope.to).to.equal("nobody@agents.localhost");
    expect((await run("list", "--workspace", workspace.id)).out).to.equal("");
    const file = join(tmpdir(), `${randomUUID()}.post`);
    expect((await run("raw", unread.id, file)).code).to.equal(0);
    expect((await readFile(file)).equals(formPost(without("email")).body)).to.equal(true);
    await rm(file);
    for (const wrong of [[], ["raw", unread.id], ["list", "--workspace", "x"], ["raw", workspace.id, file]])
      expect((await run(...wrong)).code, wrong.join(" ")).to.equal(1);
  });

  it("a mail that contains the form's boundary cannot add fields to the post: it is quarantined", async () => {
    const field = (name: string, value: string) =>
      `--xYzZY\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const own = field("envelope", JSON.stringify({ to: [identity.address], from: "ceo@bank.example" }));
    const attacks: [why: RegExp, injected: string][] = [
      [/something follows|inside a part/, `${own}${field("sender_ip", "192.0.2.99")}--xYzZY--\r\n`],
      [/more than one field envelope/, `${own}--xYzZY\r\nContent-Disposition: form-data; name="x"\r\n\r\n`],
      [/more than one field sender_ip/, field("sender_ip", "192.0.2.99")],
      [/inside a part/, "--xYzZYmore\r\n"],
      [/inside a part/, "--xYzZY\r\r\n"],
      [/inside a part/, "--xYzZY\r\nX-Nothing: 1\r\n\r\n"],
      [/inside a part/, "--xYzZY--\r\n"],
    ];
    const before = (await received()).length;
    for (const [why, injected] of attacks) {
      const raw = `${mail({ id: "attack@x.example" })}\r\n${injected}`;
      const { status, json } = await post(formPost(inboundFields({ raw, to: [identity.address] })));
      expect(status, injected).to.equal(200);
      expect(json.quarantined, injected).to.match(why);
    }
    expect(await received()).to.have.length(before);
  });

  it("a post is read in any order of its fields, with any headers of its parts and text like the boundary", async () => {
    const tricky = Buffer.from(
      `${mail({ id: "tricky@x.example" })}\r\n--xYzZ\r\n-xYzZY--\n--xYzZY\n \r\n --xYzZY--\r\n\r\nname="envelope"\r\n`,
    );
    const eight = Buffer.from(mail({ id: "eight@x.example", text: "B\u00fccher \u{1f4da}" }));
    const fields = (raw: Buffer) => inboundFields({ raw, to: [identity.address] });
    const withHeaders = (raw: Buffer, headers: string[]) =>
      formPost(fields(raw).map(([name, value]) => (name === "email" ? [name, value, headers] : [name, value])));
    const forms: [raw: Buffer, form: FormPost][] = [
      [tricky, formPost(fields(tricky))],
      [eight, formPost(fields(eight).toReversed(), { boundary: "a'()+_,-./:=?z", end: "--a'()+_,-./:=?z--" })],
      [eight, withHeaders(eight, ["Content-Type: text/plain; charset=utf-8", "X-More: y"])],
      [eight, withHeaders(eight, ["Content-Type: application/octet-stream"])],
      [
        eight,
        {
          ...formPost(fields(eight)),
          body: Buffer.concat([Buffer.from("preamble\r\n"), formPost(fields(eight)).body]),
        },
      ],
    ];
    for (const [raw, form] of forms) {
      const before = (await received()).length;
      expect(await post(form)).to.deep.include({ status: 200, json: { recipients: 1, unknown: 0 } });
      const now = await received();
      expect(now).to.have.length(before + 1);
      expect((await service.deps.blobs.get(now.at(-1)!.data.rawSha256))?.equals(raw)).to.equal(true);
    }
    await filed((await received()).length);
  });

  it("a posted mail without the sending server's address is authenticated as from a relay", async () => {
    const form = formPost(
      inboundFields({ raw: mail({ id: "noip@x.example" }), to: [identity.address], ip: "unknown" }),
    );
    expect((await post(form)).status).to.equal(200);
    expect((await received()).at(-1)?.data.remote).to.include({ relay: true });
  });

  it("a post is answered 503 while it cannot be stored, and accepted when it is posted again", async () => {
    const form = inboundPost({ raw: mail({ id: "away@x.example" }), to: [identity.address, "away@agents.localhost"] });
    const { put } = service.deps.blobs;
    const before = (await received()).length;
    for (const broken of [new Unavailable("away"), new Error("a bug of ours")]) {
      service.deps.blobs.put = () => Promise.reject(broken);
      for (const each of [form, formPost(without("email"))]) {
        const { status, retryAfter } = await post(each);
        expect([status, retryAfter]).to.deep.equal([503, "60"]);
      }
    }
    service.deps.blobs.put = put;
    expect(await received()).to.have.length(before);
    expect((await post(form)).status).to.equal(200);
    expect(await received()).to.have.length(before + 1);
  });

  it("a mail that was stored but answered 503 is filed once when it is posted again", async () => {
    const form = inboundPost({
      raw: mail({ id: "untold@x.example" }),
      to: [identity.address, "untold@agents.localhost"],
    });
    const { inboxes, strayMails } = service.deps;
    const before = (await received()).length;
    const [ofInboxes, ofStrays] = [inboxes.handle, strayMails.handle];
    const lostAfter =
      (handle: any) =>
      async (...given: any[]) => {
        await handle(...given);
        throw new Unavailable("gone before the answer");
      };
    inboxes.handle = lostAfter(ofInboxes);
    expect((await post(form)).status).to.equal(503);
    inboxes.handle = ofInboxes;
    strayMails.handle = lostAfter(ofStrays);
    expect((await post(form)).status).to.equal(503);
    strayMails.handle = ofStrays;
    expect((await post(form)).status).to.equal(200);
    await filed(before + 3);
    const entries = (await ledger(`&identity_id=${identity.id}`)).slice(0, 3);
    expect(entries.map(({ disposition }) => disposition)).to.deep.equal(["duplicate", "duplicate", "threaded"]);
    expect((await strays()).filter(({ data }) => data.envelope?.to === "untold@agents.localhost")).to.have.length(1);
  });

  itInFull("a mail that is posted again after the service was killed before its answer is filed once", async () => {
    const form = () => inboundPost({ raw: mail({ id: "killed@x.example" }), to: [address] });
    const env = { SENDGRID_INBOUND_SECRET: secret, CRASH_AT: "inbound:received" };
    const database = await createTestDatabase({ readModels: true });
    let child = await startService({ env, database });
    const { apiKey, dataDir } = child;
    const ask = (line: string, json?: object) => asking(child.url, apiKey!)(line, json && { json });
    const domain = (await ask("GET /v1/domains")).json.data[0];
    const { address } = await ask("POST /v1/identities", {
      domain_id: domain.id,
      local_part: "killed",
      display_name: "K",
    }).then(({ json }) => ({ address: json.email_address }));
    const send = () => fetch(`${child.url}/hooks/sendgrid/inbound/${secret}`, { method: "POST", ...asInit(form()) });
    const first = await send().then(
      ({ status }) => status,
      () => "gone",
    );
    expect(first).to.equal("gone");
    child = await startService({ env: { ...env, CRASH_AT: "" }, database, dataDir });
    expect((await send()).status).to.equal(200);
    // A service that has just started may answer 503.
    const entries = async (): Promise<any[]> => (await ask("GET /v1/inbound")).json.data ?? [];
    await until(
      async () => (await entries()).length === 2 && (await entries()).every((each) => each.disposition !== "received"),
    );
    expect((await entries()).map(({ disposition }) => disposition)).to.deep.equal(["duplicate", "threaded"]);
    await child.stop();
    await database.drop();
  });

  it("a post that breaks off in transit is not acknowledged, and nothing is stored", async () => {
    const { body, headers } = inboundPost({ raw: mail({ id: "cut@x.example" }), to: [identity.address] });
    const before = [(await received()).length, (await strays()).length];
    const { port } = new URL(service.url);
    const socket = connect(Number(port), "127.0.0.1");
    let said = "";
    socket.on("data", (chunk) => (said += chunk));
    socket.on("error", () => {});
    socket.write(
      `POST /hooks/sendgrid/inbound/${secret} HTTP/1.1\r\nHost: x\r\nContent-Type: ${headers["content-type"]}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.end(body.subarray(0, -10));
    await new Promise((resolve) => socket.once("close", resolve));
    expect(said).not.to.match(/^HTTP\/1\.1 2/);
    expect([(await received()).length, (await strays()).length]).to.deep.equal(before);
  });

  describe("the same mail by SendGrid and by SMTP", () => {
    const ip = "192.0.2.7";
    const from = "ann@customer.example";

    /** Sends the mail by SMTP through a trusted relay that names the sender's server with XCLIENT. */
    async function bySmtp(raw: Buffer, to: string): Promise<void> {
      const sender = await startSender(smtpPort);
      await sender.say("EHLO relay.example");
      expect(await sender.say(`XCLIENT ADDR=${ip}`)).to.match(/^220/);
      await sender.say("EHLO customer.example");
      await sender.say(`MAIL FROM:<${from}>`);
      expect(await sender.say(`RCPT TO:<${to}>`)).to.match(/^250/);
      await sender.say("DATA");
      await sender.write(Buffer.from(raw.toString("latin1").replace(/^\./gm, ".."), "latin1"));
      expect(await sender.say(".")).to.match(/^250/);
      sender.hangUp("end");
    }

    /** Returns the message of each delivery, in order, without its ids and times; threads and messages have numbers. */
    async function messagesOf(identityId: string): Promise<object[]> {
      const entries: any[] = [];
      for (let offset = 0, total = 1; offset < total; offset += 100) {
        const { json } = await workspace.ask(`GET /v1/inbound?limit=100&offset=${offset}&identity_id=${identityId}`);
        entries.push(...json.data);
        total = json.total;
      }
      const [threads, messages] = [new Map<string, number>(), new Map<string, number>()];
      const numberOf = (ids: Map<string, number>, id: string) => ids.get(id) ?? ids.set(id, ids.size).get(id);
      const found: object[] = [];
      for (const { message_id, disposition, reason, size_bytes } of entries.reverse()) {
        const row = await messageById(service.deps.reads, workspace.id, message_id);
        const { id, thread_id, identity_id, received_at, created_at, attachments = [], ...rest } = (row ?? {}) as any;
        found.push({
          ...{ disposition, reason, size_bytes, ...rest },
          number: numberOf(messages, message_id),
          thread: numberOf(threads, thread_id),
          attachments: attachments.map(({ id: _, ...each }: any) => each),
        });
      }
      return found;
    }

    const crlf = ({ name, raw }: CorpusFile): CorpusFile => ({
      name,
      raw: Buffer.from(
        `${raw
          .toString("latin1")
          .replace(/\r?\n/g, "\r\n")
          .replace(/(\r\n)*$/, "")}\r\n`,
        "latin1",
      ),
    });

    async function sample(): Promise<CorpusFile[]> {
      const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const der = publicKey.export({ type: "spki", format: "der" }).toString("base64");
      dns.txt("s1._domainkey.customer.example", `v=DKIM1; k=rsa; p=${der}`);
      dns.txt("customer.example", `v=spf1 ip4:${ip} -all`);
      dns.txt("_dmarc.customer.example", "v=DMARC1; p=reject");
      const key = {
        domain: "customer.example",
        selector: "s1",
        privateKey: privateKey.export({ type: "pkcs8", format: "pem" }),
      };
      const latin = Buffer.from(
        mail({ id: "signed@customer.example", text: "B\u00fccher, caf\u00e9" }).replace("utf-8", "iso-8859-1"),
        "latin1",
      );
      const signed = await signMail(latin, key as SigningKey);
      const own = ["list-mail", "mime", "automatic"].filter(hasCorpus).flatMap((name) => {
        const files = corpus(name).filter((file) => !/\.(tsv|md|txt)$/.test(file.name));
        const many = sized(1, 400);
        return files.filter((_, index) => index % Math.max(1, Math.floor(files.length / many)) === 0).slice(0, many);
      });
      const fixtures = fixtureNames().map((name) => ({ name, raw: fixture(name) }));
      const few = fixtures.filter((_, index) => inFull || index % 4 === 0);
      return [{ name: "signed in iso-8859-1", raw: signed }, ...[...few, ...own].map(crlf)];
    }

    it("a mail by SendGrid becomes the same message, thread and authentication result as by SMTP", async () => {
      const [posted, sent] = [await service.identity(workspace.id), await service.identity(workspace.id)];
      const mails = await sample();
      for (const { name, raw } of mails) {
        await bySmtp(raw, sent.address);
        expect(await post(inboundPost({ raw, to: [posted.address], from, ip })), name).to.include({ status: 200 });
      }
      const isDone = (messages: any[]) =>
        messages.length === mails.length &&
        messages.every(({ disposition, authentication }) => disposition !== "received" && authentication);
      await until(async () => isDone(await messagesOf(posted.id)) && isDone(await messagesOf(sent.id)));
      const [one, other] = [await messagesOf(posted.id), await messagesOf(sent.id)];
      expect(one).to.have.length(mails.length);
      for (const [index, { name }] of mails.entries()) {
        const atOther = JSON.parse(JSON.stringify(other[index]).replaceAll(sent.address, posted.address));
        expect(one[index], name).to.deep.equal(atOther);
      }
      expect((one[0] as any).authentication).to.include({ spf: "pass", dkim: "pass", dmarc: "pass", aligned: true });
    });
  });
});
