import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { expect } from "chai";
import pino from "pino";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import {
  CredentialsRefused,
  type HandOverOutcome,
  type MayStillSend,
  NotConnected,
  type OutgoingMail,
} from "#src/mail/mailProvider.ts";
import { createSendGridProvider, type SendGridOptions } from "#src/mail/out/sendGrid/sendGridProvider.ts";
import { watchProvider } from "#src/mail/watchProvider.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { emptyLetter } from "#test/support/letter.ts";
import { failSends, faults } from "#test/support/sendGrid/faults.ts";
import { mockMail } from "#test/support/sendGrid/mail.ts";
import { type MockSendGrid, mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";

const mail = (different: Partial<OutgoingMail["letter"]> = {}): OutgoingMail => ({
  attemptId: "attempt",
  messageId: "<id@ours.example>",
  envelope: { from: "agent@ours.example", to: ["ann@customer.example"] },
  mime: Buffer.alloc(0),
  letter: { ...emptyLetter, to: ["ann@customer.example"], subject: "Hello", text: "Hi", ...different },
});
const large = mail({
  attachments: [
    { filename: "a.bin", contentType: "application/octet-stream", content: Buffer.alloc(3_000_000), contentId: null },
  ],
});

/** The outcome for each fault; "unknown" for those not listed, because SendGrid may have the mail. */
const expected: Record<string, Partial<HandOverOutcome>> = {
  "request 202 before the body came": { kind: "unknown" },
  "request 400": { kind: "refused", retryable: false, code: "400" },
  "request 401": { kind: "refused", retryable: true, code: "provider_credentials" },
  "request 403": { kind: "refused", retryable: true, code: "provider_credentials" },
  "request 404": { kind: "refused", retryable: false, code: "404" },
  "request 413": { kind: "refused", retryable: false, code: "413" },
  "request 429, reset in 90 s": { kind: "refused", retryable: true, code: "429", retryAfterSeconds: 90 },
  "request 429, no time named": { kind: "refused", retryable: true, code: "429", retryAfterSeconds: 0 },
  "answer 202 with 10 MB": { kind: "accepted" },
  "answer 202, then silence": { kind: "accepted" },
  "answer 202 without X-Message-Id": { kind: "accepted", response: "202" },
};

describe("the SendGrid provider", () => {
  const sendGrid = mockMail();
  let mock: MockSendGrid;
  before(async () => {
    mock = await startMockSendGrid(sendGrid.handlers);
  });
  after(() => mock.stop());
  afterEach(() => mock.setFault(undefined));

  const provider = (different: Partial<SendGridOptions> = {}) =>
    createSendGridProvider({ apiKey: mockApiKey, baseUrl: mock.url, ...different });
  const handOver = async (what = mail(), mayWrite: MayStillSend = () => true, options: Partial<SendGridOptions> = {}) =>
    (await provider(options).connect()).handOver(what, mayWrite);

  it("the SendGrid provider hands a mail over once and returns its id", async () => {
    const before = sendGrid.taken.length;
    const outcome = await handOver();
    const { id } = sendGrid.taken.at(-1)!;
    expect(outcome).to.deep.equal({ kind: "accepted", response: `202 ${id}`, providerId: id });
    expect(sendGrid.taken.length).to.equal(before + 1);
  });

  it("the SendGrid provider hands over a large mail", async () => {
    expect(await handOver(large)).to.include({ kind: "accepted" });
    expect(sendGrid.taken.at(-1)!.body.attachments[0].content.length).to.equal(4_000_000);
  });

  for (const { at, what, fault } of faults) {
    const name = `${at} ${what}`;
    const outcome = expected[name] ?? { kind: "unknown" };
    it(`the SendGrid provider reports ${name} as ${outcome.kind}`, async () => {
      failSends(mock, fault, 1);
      const short = { idleMs: 80, answerMs: 80 };
      const patient = { idleMs: 20_000, answerMs: 20_000 };
      const timeouts = what.includes("silence") ? short : patient;
      expect(await handOver(name.includes("before the body") ? large : mail(), () => true, timeouts)).to.deep.include(
        outcome,
      );
    });
  }

  it("the SendGrid provider waits longer for the answer than for a sign of life while sending", async () => {
    failSends(mock, {
      after(_call, _answer, response) {
        setTimeout(() => response.writeHead(202).end(), 500);
        return true;
      },
    });
    expect(await handOver(mail(), () => true, { idleMs: 250, answerMs: 20_000 })).to.include({ kind: "accepted" });
  });

  it("the SendGrid provider returns the reason of a refusal without the key", async () => {
    const says = `bad key ${mockApiKey}, Bearer ${mockApiKey}\u202e and more`;
    const body = JSON.stringify({ errors: [{ message: says }] });
    failSends(mock, {
      after(_call, _answer, response) {
        response.writeHead(400).end(body);
        return true;
      },
    });
    const outcome = await handOver();
    expect(outcome).to.include({ kind: "refused" });
    expect(JSON.stringify(outcome)).not.to.include(mockApiKey);
    expect(JSON.stringify(outcome)).to.include("bad key").and.not.include("\u202e");
  });

  it("the SendGrid provider writes nothing if the mail may not be sent or the check fails", async () => {
    const before = mock.calls.length;
    const fails = () => {
      throw new Error("away");
    };
    for (const mayWrite of [() => false, async () => false, fails])
      expect(await handOver(mail(), mayWrite)).to.include({ kind: "not_handed_over" });
    expect(mock.calls.length).to.equal(before);
  });

  it("a connection of the SendGrid provider sends one mail", async () => {
    const connection = await provider().connect();
    await connection.handOver(mail(), () => true);
    expect(await connection.handOver(mail(), () => true)).to.include({ kind: "not_handed_over" });
  });

  describe("the SendGrid provider before it writes", () => {
    let server: Server;
    let sockets: Socket[];
    const serve = async (onSocket: (socket: Socket) => void = () => {}) => {
      sockets = [];
      server = createTcpServer((socket) => {
        sockets.push(socket.on("error", () => {}));
        onSocket(socket);
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      return `127.0.0.1:${(server.address() as { port: number }).port}`;
    };
    afterEach(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const refusal = (options: Partial<SendGridOptions>) =>
      provider(options)
        .connect()
        .catch((error) => error);

    it("the SendGrid provider is unavailable if the host cannot be reached or does not speak TLS", async () => {
      const host = await serve();
      expect(await refusal({ baseUrl: `https://${host}`, readyMs: 60 })).to.be.instanceOf(Unavailable);
      server.close();
      expect(await refusal({ baseUrl: `http://${host}` })).to.be.instanceOf(Unavailable);
      expect(await refusal({ baseUrl: "http://nowhere.invalid" })).to.be.instanceOf(Unavailable);
    });

    it("the SendGrid provider names the setting for a certificate that is not trusted", async () => {
      const secured = createTlsServer(certificateOf("api.sendgrid.test")).listen(0, "127.0.0.1");
      await once(secured, "listening");
      const { port } = secured.address() as AddressInfo;
      const error = await refusal({ baseUrl: `https://127.0.0.1:${port}` });
      secured.close();
      expect(error).to.be.instanceOf(NotConnected).with.property("lasts", true);
      expect(error.message).to.match(/DEPTH_ZERO_SELF_SIGNED_CERT: NODE_EXTRA_CA_CERTS/);
    });

    it("the SendGrid provider hands nothing over if its connection was closed during the check", async () => {
      const host = await serve((socket) => socket.end());
      const connection = await provider({ baseUrl: `http://${host}` }).connect();
      const untilClosed = async () => {
        while (sockets[0]?.destroyed !== true) await new Promise((resolve) => setImmediate(resolve));
        return true;
      };
      expect(await connection.handOver(mail(), untilClosed)).to.include({ kind: "not_handed_over" });
      expect(sockets[0]!.bytesRead).to.equal(0);
    });

    it("the SendGrid provider ignores an answer that came before its request", async () => {
      const host = await serve((socket) => socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"));
      const connection = await provider({ baseUrl: `http://${host}` }).connect();
      const untilClosed = async () => {
        while (sockets[0]?.destroyed !== true) await new Promise((resolve) => setImmediate(resolve));
        return true;
      };
      expect(await connection.handOver(mail(), untilClosed)).to.include({ kind: "not_handed_over" });
    });
  });

  it("refused SendGrid credentials are reported until a mail is accepted or the key is valid again", async () => {
    let now = 0;
    const watched = watchProvider(provider(), { monotonic: () => now, log: pino({ level: "silent" }) });
    const give = async () => (await watched.connect()).handOver(mail(), () => true);
    const refuse = () => failSends(mock, faults.find(({ what }) => what === "401")!.fault);
    refuse();
    await give();
    expect(watched.trouble()).to.match(/credentials.*401/);
    mock.setFault(undefined);
    await give();
    expect(watched.trouble()).to.equal(undefined);
    refuse();
    await give();
    now = 60_000;
    watched.trouble();
    // Mails are still refused; the key itself is checked.
    while (watched.trouble() !== undefined) await new Promise((resolve) => setImmediate(resolve));
    const stranger = createSendGridProvider({ apiKey: "SG.other", baseUrl: mock.url });
    expect(await stranger.checkCredentials!().catch((error) => error)).to.be.instanceOf(CredentialsRefused);
  });

  describe("the search for an attempt in SendGrid's logs", () => {
    const attempt = { attemptId: "attempt", recipients: ["ann@customer.example"], since: new Date(0) };
    afterEach(() => {
      sendGrid.setLogs("readable");
      sendGrid.setStatus("delivered");
    });

    it("an attempt is found in SendGrid's logs only by its mark, recipient and time", async () => {
      await handOver();
      const look = (different: object = {}) => provider().lookUp!({ ...attempt, ...different });
      expect(await look()).to.equal("accepted");
      expect(await look({ attemptId: "another" })).to.equal(undefined);
      expect(await look({ recipients: ["bob@customer.example"] })).to.equal(undefined);
      expect(await look({ since: new Date(Date.now() + 60_000) })).to.equal(undefined);
      expect(await look({ recipients: ["o'neil@customer.example"] })).to.equal(undefined);
    });

    it("an attempt dropped for its only recipient counts as refused", async () => {
      await handOver();
      sendGrid.setStatus("dropped");
      expect(await provider().lookUp!(attempt)).to.equal("refused");
      expect(await provider().lookUp!({ ...attempt, recipients: ["ann@customer.example", "b@x.example"] })).to.equal(
        "accepted",
      );
    });

    it("unreadable or unavailable SendGrid logs are no evidence", async () => {
      await handOver();
      sendGrid.setLogs("not bought");
      expect(await provider().lookUp!(attempt)).to.equal(undefined);
      expect(await provider({ baseUrl: "http://127.0.0.1:9" }).lookUp!(attempt)).to.equal(undefined);
      mock.setFault({ before: () => true });
      expect(await provider({ askMs: 60 }).lookUp!(attempt)).to.equal(undefined);
    });
  });
});
