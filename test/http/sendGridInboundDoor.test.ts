import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect } from "chai";
import express from "express";
import type { ProviderPost } from "#src/commands/inbound/postedMail.ts";
import { type SendGridInboundOptions, sendGridInbound } from "#src/http/hooks/sendGrid/inbound.ts";
import { systemClock } from "#src/platform/clock.ts";
import { inFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import {
  type FormPost,
  formPost,
  inboundFields,
  inboundPost,
  securityPolicy,
} from "#test/support/sendGrid/inboundForm.ts";

const secret = "inbound-secret-one";
const megabyte = 1024 * 1024;
/** Smaller than the defaults. */
const limits = { maxBytes: 400_000, maxHeldBytes: 1_280_000, maxAtWorkBytes: 480_000 };

describe("the hook for SendGrid's posts", () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** Serves the hook alone on a real socket, with a `take` that records each post. */
  async function startHook(options: Partial<SendGridInboundOptions> = {}) {
    const accepted: ProviderPost[] = [];
    const logged: string[] = [];
    const unknown = { count: 0 };
    const app = express();
    app.use(
      sendGridInbound({
        take: async (post) => {
          accepted.push(post);
          return { recipients: 1, unknown: 0 };
        },
        ...{ secrets: [secret], publicKey: undefined, isExpected: true, isDiskFull: () => false },
        countUnknown: async () => void unknown.count++,
        clock: systemClock,
        logger: { info: () => {}, error: (_: object, sentence: string) => void logged.push(sentence) },
        ...options,
      } as SendGridInboundOptions),
    );
    app.use((_, response) => void response.status(404).end());
    const server = createServer(app);
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const post = async ({ body, headers }: FormPost, path = secret) => {
      const url = `http://127.0.0.1:${port}/hooks/sendgrid/inbound/${path}`;
      return (await fetch(url, { method: "POST", body: Uint8Array.from(body), headers })).status;
    };
    return { port, post, accepted, logged, unknown };
  }

  /** Announces a body of `announced` bytes, sends `sent` bytes of it and then nothing. */
  function beginPost(port: number, { path = secret, announced = 390_000, sent = 1_000 } = {}) {
    const socket = connect(port, "127.0.0.1");
    const said = { text: "" };
    socket.on("data", (chunk) => (said.text += chunk)).on("error", () => {});
    socket.write(
      `POST /hooks/sendgrid/inbound/${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${announced}\r\n\r\n`,
    );
    socket.write(Buffer.alloc(sent));
    return { socket, said };
  }

  const form = () => inboundPost({ raw: "Subject: Hello\r\n\r\nHello", to: ["support@agents.localhost"] });

  it("a post needs the secret, and a valid signature if a key is configured", async () => {
    const policy = securityPolicy();
    const { post, accepted, logged } = await startHook({ publicKey: policy.publicKey });
    const now = Date.now();
    const signed = (agoSeconds = 0) => policy.signed(form(), new Date(now - agoSeconds * 1_000));
    expect(await post(signed())).to.equal(200);
    // A repetition may have the first post's signature; SendGrid repeats for 72 hours.
    expect(await post(signed(72.5 * 3_600))).to.equal(200);
    expect(await post(signed(-200))).to.equal(200);
    const binary = formPost(inboundFields({ raw: Buffer.from([0xe9, 0xff, 0x00, 0x0d, 0x0a]), to: ["a@b.example"] }));
    expect(await post(policy.signed(binary))).to.equal(200);
    expect(accepted).to.have.length(4);
    expect(await post(signed(), "another-secret-of-theirs")).to.equal(404);
    const good = signed();
    const other = securityPolicy().signed(form());
    const header = "x-twilio-email-event-webhook-";
    const refused: [why: string, post: FormPost][] = [
      ["unsigned", form()],
      ["of another key", other],
      ["of another body", { ...good, body: form().body }],
      ["a byte more", { ...good, body: Buffer.concat([good.body, Buffer.from("\n")]) }],
      [
        "of another time",
        { ...good, headers: { ...good.headers, [`${header}timestamp`]: String(Math.floor(now / 1000) - 7) } },
      ],
      ["no signature at all", { ...good, headers: { ...good.headers, [`${header}signature`]: "AAAA" } }],
      ["an empty one", { ...good, headers: { ...good.headers, [`${header}signature`]: "" } }],
      ["too old", signed(96.1 * 3_600)],
      ["of the future", signed(-400)],
      ["no time", policy.signed(form(), new Date(Number.NaN))],
    ];
    for (const [why, each] of refused) expect(await post(each), why).to.equal(503);
    expect(accepted).to.have.length(4);
    expect(logged).to.deep.equal(["a post of inbound mail from SendGrid has the secret but no valid signature"]);
  });

  it("without a secret a post is answered 503 if SendGrid is the provider, and otherwise 404", async () => {
    const forgotten = await startHook({ secrets: [] });
    expect([await forgotten.post(form()), forgotten.accepted.length, forgotten.logged.length]).to.deep.equal([
      503, 0, 1,
    ]);
    const elsewhere = await startHook({ secrets: [], isExpected: false });
    expect([await elsewhere.post(form()), elsewhere.unknown.count]).to.deep.equal([404, 1]);
  });

  it("a post is answered 503 while the disk is full and when it cannot be stored", async () => {
    let isFull = true;
    const full = await startHook({ isDiskFull: () => isFull });
    expect([await full.post(form()), full.accepted.length]).to.deep.equal([503, 0]);
    isFull = false;
    expect(await full.post(form())).to.equal(200);
    const failing = await startHook({ take: () => Promise.reject(new Error("a bug")) });
    expect([await failing.post(form()), await failing.post(form())]).to.deep.equal([503, 503]);
    expect(failing.logged, "once in a while").to.have.length(1);
  });

  it("the hook buffers no post with a wrong secret, and only a few large posts at a time", async () => {
    const { port, post, accepted } = await startHook({ limits });
    const stranger = { path: "wrong-secret-of-theirs", announced: 39 * megabyte, sent: megabyte };
    const strangers = Array.from({ length: 4 }, () => beginPost(port, stranger));
    await until(async () => strangers.every(({ said }) => said.text.startsWith("HTTP/1.1 404")));
    const large = Array.from({ length: 4 }, () => beginPost(port, { sent: 270_000 }));
    const email = Buffer.alloc(200_000, "x");
    const big = inboundPost({ raw: email, to: ["a@b.example"] });
    await until(async () => (await post(big)) === 503);
    expect(await post(form()), "a small one still fits").to.equal(200);
    for (const { socket } of [...strangers, ...large]) socket.destroy();
    await until(async () => (await post(big)) === 200);
    expect((accepted.at(-1)!.mail as { raw: Buffer }).raw.equals(email)).to.equal(true);
  });

  it("a post of SendGrid's largest size is accepted; a larger one is answered 503", async () => {
    const scale = inFull ? megabyte : 10_000;
    const { post, accepted, logged } = await startHook(inFull ? {} : { limits });
    const raw = Buffer.alloc(30 * scale, "0123456789abcdef\r\n");
    expect(await post(inboundPost({ raw, to: ["a@b.example"] }))).to.equal(200);
    expect((accepted[0]!.mail as { raw: Buffer }).raw.equals(raw)).to.equal(true);
    expect(await post(inboundPost({ raw: Buffer.alloc(40 * scale), to: ["a@b.example"] }))).to.equal(503);
    expect([accepted.length, logged]).to.deep.equal([
      1,
      ["inbound mail from SendGrid is too large to be accepted; SendGrid will post it again"],
    ]);
  });

  it("a post that stalls is disconnected without an answer", async () => {
    const { port, accepted } = await startHook({ patienceMs: 100 });
    const { socket, said } = beginPost(port);
    await once(socket, "close");
    expect([said.text, accepted.length]).to.deep.equal(["", 0]);
  });
});
