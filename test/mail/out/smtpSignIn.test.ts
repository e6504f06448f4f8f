import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import pino from "pino";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused } from "#src/mail/mailProvider.ts";
import { createSmtpProvider } from "#src/mail/out/smtpProvider.ts";
import { watchProvider } from "#src/mail/watchProvider.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { emptyLetter } from "#test/support/letter.ts";

const mail = {
  attemptId: "attempt",
  envelope: { from: "agent@ours.example", to: ["ann@theirs.example"] },
  messageId: "<id@ours.example>",
  mime: Buffer.from("Subject: hello\r\n\r\nHello\r\n"),
  letter: emptyLetter,
};

/** Tests with the library smtp-server and a token endpoint on loopback. */
describe("a relay that needs TLS, a certificate or a token", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-smtp-sign-in-"));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const certificates = { server: certificateOf("relay.test"), client: certificateOf("client.test") };
  const ca = file("ca.pem", certificates.server.cert);
  const cert = file("client.pem", certificates.client.cert);
  const key = file("client.key", certificates.client.key);
  const stranger = certificateOf("stranger.test");
  const strangerCert = file("stranger.pem", stranger.cert);
  const strangerKey = file("stranger.key", stranger.key);

  let closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(closing.map((close) => close()));
    closing = [];
  });
  after(() => rmSync(directory, { recursive: true }));

  /** Starts a relay. `taken`: the accepted mails and how their connections were secured. */
  async function startRelay(options: SMTPServerOptions) {
    const taken: { content: string; secure: boolean; version: string | undefined; servername: string | false }[] = [];
    const server = new SMTPServer({
      ...{ logger: false, disableReverseLookup: true, closeTimeout: 100, authOptional: true },
      ...options,
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk) => chunks.push(chunk));
        stream.on("end", () => {
          const { secure, tlsOptions, servername } = session as any;
          taken.push({ content: Buffer.concat(chunks).toString(), secure, version: tlsOptions?.version, servername });
          done();
        });
      },
    });
    server.on("error", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => new Promise<void>((resolve) => server.close(resolve)));
    return { port: ((server as any).server.address() as AddressInfo).port, taken };
  }

  const overTls = { key: certificates.server.key, cert: certificates.server.cert } as const;

  /** Sends one mail. Returns the outcome's kind, or the error if no connection was made. */
  async function send(url: string): Promise<unknown> {
    const provider = createSmtpProvider(url, { readyMs: 5_000 });
    closing.push(() => provider.close());
    try {
      const connection = await provider.connect();
      return (await connection.handOver(mail, () => true)).kind;
    } catch (error) {
      return error;
    }
  }

  describe("TLS to a relay", () => {
    for (const [scheme, options] of Object.entries({
      smtp: { disabledCommands: ["AUTH"] },
      smtps: { secure: true, disabledCommands: ["AUTH"] },
    })) {
      it(`a mail by ${scheme}:// is sent only if the relay's certificate has the right authority and name`, async () => {
        const { port, taken } = await startRelay({ ...overTls, ...options });
        const url = `${scheme}://127.0.0.1:${port}?requireTls=true`;
        expect(await send(`${url}&caFile=${ca}&servername=relay.test`)).to.equal("accepted");
        expect(taken[0]).to.include({ secure: true, servername: "relay.test" });
        expect(await send(`${url}&servername=relay.test`), "no authority").to.be.instanceOf(Unavailable);
        expect(await send(`${url}&caFile=${ca}&servername=other.test`), "another name").to.be.instanceOf(Unavailable);
        expect(await send(`${url}&tls.rejectUnauthorized=false`), "not checked").to.equal("accepted");
        expect(taken).to.have.length(2);
      });
    }

    it("a mail is sent only over the minimum version of TLS", async () => {
      const { port } = await startRelay({
        ...overTls,
        secure: true,
        maxVersion: "TLSv1.2",
        disabledCommands: ["AUTH"],
      });
      const url = `smtps://127.0.0.1:${port}?caFile=${ca}&servername=relay.test`;
      expect(await send(`${url}&minVersion=TLSv1.3`)).to.be.instanceOf(Unavailable);
      expect(await send(`${url}&minVersion=TLSv1.2`)).to.equal("accepted");
    });

    it("a relay without STARTTLS gets no mail if TLS is required", async () => {
      const { port, taken } = await startRelay({ disabledCommands: ["STARTTLS", "AUTH"] });
      expect(await send(`smtp://127.0.0.1:${port}?requireTLS=true`)).to.be.instanceOf(Unavailable);
      expect(taken).to.have.length(0);
      expect(await send(`smtp://127.0.0.1:${port}`)).to.equal("accepted");
    });
  });

  it("a relay that asks for a client certificate accepts only the right one, and a renewed file is read at once", async () => {
    const { port, taken } = await startRelay({
      ...overTls,
      ...{ secure: true, requestCert: true, rejectUnauthorized: true, ca: certificates.client.cert },
      disabledCommands: ["AUTH"],
    } as SMTPServerOptions);
    const url = `smtps://127.0.0.1:${port}?caFile=${ca}&servername=relay.test`;
    expect(await send(url), "none").to.be.instanceOf(Unavailable);
    expect(await send(`${url}&certFile=${strangerCert}&keyFile=${strangerKey}`), "a stranger's").to.be.instanceOf(
      Unavailable,
    );
    expect(await send(`${url}&certFile=${cert}&keyFile=${key}`)).to.equal("accepted");
    expect(taken).to.have.length(1);

    const [certFile, keyFile] = [file("renewed.pem", stranger.cert), file("renewed.key", stranger.key)];
    const provider = createSmtpProvider(`${url}&certFile=${certFile}&keyFile=${keyFile}`, { readyMs: 5_000 });
    closing.push(() => provider.close());
    expect(await provider.connect({ comesBack: true }).catch((error) => error)).to.be.instanceOf(Unavailable);
    file("renewed.pem", certificates.client.cert);
    const halfway = await provider.connect({ comesBack: true }).catch((error) => error);
    expect(halfway).to.be.instanceOf(Unavailable).and.have.property("message").that.includes("keyFile");
    file("renewed.key", certificates.client.key);
    expect((await (await provider.connect({ comesBack: true })).handOver(mail, () => true)).kind).to.equal("accepted");
  });

  describe("an XOAUTH2 token for a relay", () => {
    const clientSecret = "canary-client-secret";
    const refreshToken = "canary-refresh-token";

    type Answer = { status?: number; body: string | object };

    /** Starts a token endpoint that answers as `answer` says and records its requests. */
    async function startEndpoint(answer: (asked: URLSearchParams, n: number) => Answer | undefined) {
      const asked: URLSearchParams[] = [];
      const server: Server = createServer(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk);
        asked.push(new URLSearchParams(Buffer.concat(chunks).toString()));
        const found = answer(asked.at(-1)!, asked.length);
        if (!found) return void request.socket.destroy();
        const { status = 200, body } = found;
        response.writeHead(status, { "content-type": "application/json", location: "http://127.0.0.1:1/" });
        response.end(typeof body === "string" ? body : JSON.stringify(body));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      closing.push(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      });
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`, asked };
    }

    /** Starts a relay that accepts the tokens in `good` and records the tokens it was shown. */
    async function startTokenRelay(good: Set<string>) {
      const shown: { user: string; token: string }[] = [];
      const relay = await startRelay({
        ...overTls,
        authOptional: false,
        authMethods: ["XOAUTH2"],
        allowInsecureAuth: true,
        onAuth({ username = "", accessToken = "" }, _session, done) {
          shown.push({ user: username, token: accessToken });
          if (good.has(accessToken)) done(null, { user: username });
          else done(null, { data: { status: "401", schemes: "bearer" } } as any);
        },
      });
      return { ...relay, shown };
    }

    const urlOf = (port: number, accessUrl: string): string =>
      `smtp://agent%40ours.example@127.0.0.1:${port}?requireTLS=true&caFile=${ca}&servername=relay.test&accessUrl=${encodeURIComponent(accessUrl)}` +
      `&clientId=client&clientSecretFile=${file("client-secret", clientSecret)}&refreshToken=${refreshToken}&scope=mail.send`;

    const provided = (url: string) => {
      const provider = createSmtpProvider(url, { readyMs: 5_000, room: { connections: 3 } });
      closing.push(() => provider.close());
      return provider;
    };
    const sendBy = async (provider: ReturnType<typeof provided>) =>
      (await (await provider.connect({ comesBack: true })).handOver(mail, () => true)).kind;

    it("one token is bought for many mails and shown to the relay", async () => {
      const endpoint = await startEndpoint(() => ({ body: { access_token: "token-1", expires_in: 3600 } }));
      const relay = await startTokenRelay(new Set(["token-1"]));
      const provider = provided(urlOf(relay.port, endpoint.url));
      expect(await Promise.all([sendBy(provider), sendBy(provider), sendBy(provider)])).to.deep.equal(
        Array(3).fill("accepted"),
      );
      expect(endpoint.asked.map((form) => Object.fromEntries(form))).to.deep.equal([
        {
          ...{ grant_type: "refresh_token", client_id: "client", client_secret: clientSecret },
          ...{ refresh_token: refreshToken, scope: "mail.send" },
        },
      ]);
      expect(relay.shown[0]).to.deep.equal({ user: "agent@ours.example", token: "token-1" });
      expect(relay.taken.map(({ secure }) => secure)).to.deep.equal([true, true, true]);
    });

    it("another token is bought after expiry, with the newest refresh token", async () => {
      const endpoint = await startEndpoint((_, n) => ({
        // The first token expires before it can be used twice.
        body: { access_token: `token-${n}`, expires_in: n === 1 ? 0.001 : 3600, refresh_token: `refresh-${n}` },
      }));
      const relay = await startTokenRelay(new Set(["token-1", "token-2", "token-3"]));
      const provider = provided(urlOf(relay.port, endpoint.url));
      for (let n = 0; n < 3; n++) expect(await sendBy(provider)).to.equal("accepted");
      const tokens = endpoint.asked.map((form) => form.get("refresh_token"));
      expect(tokens.slice(0, 2)).to.deep.equal([refreshToken, "refresh-1"]);
      expect(relay.shown.at(-1)?.token).to.equal(`token-${endpoint.asked.length}`);
      expect(endpoint.asked.length).to.be.within(2, 3);
    });

    it("another token is bought when the relay refuses the current one", async () => {
      const good = new Set(["token-1"]);
      const endpoint = await startEndpoint((_, n) => ({ body: { access_token: `token-${n}`, expires_in: 3600 } }));
      const relay = await startTokenRelay(good);
      const provider = provided(urlOf(relay.port, endpoint.url));
      expect(await sendBy(provider)).to.equal("accepted");
      good.clear();
      good.add("token-2");
      expect(await sendBy(provider)).to.equal("accepted");
      expect(relay.shown.map(({ token }) => token)).to.deep.equal(["token-1", "token-1", "token-2"]);
    });

    it("refused tokens are reported without secrets by relay and endpoint, until one is accepted", async () => {
      const good = new Set<string>();
      let answer: Answer = { body: { access_token: "token-1", expires_in: 3600 } };
      const endpoint = await startEndpoint(() => answer);
      const relay = await startTokenRelay(good);
      let now = 0;
      const watched = watchProvider(provided(urlOf(relay.port, endpoint.url)), {
        monotonic: () => now,
        log: pino({ level: "silent" }),
      });
      const refusal = async () => watched.connect({ comesBack: true }).catch((error) => error);

      expect(await refusal(), "by the relay").to.be.instanceOf(CredentialsRefused);
      expect(watched.trouble()).to.match(/^SMTP relay: /);
      answer = {
        status: 400,
        body: { error: "invalid_grant", error_description: `${refreshToken} has expired, ${clientSecret}` },
      };
      const refused = await refusal();
      expect(refused, "by the endpoint").to.be.instanceOf(CredentialsRefused);
      expect(refused.message).to.equal("SMTP relay: the token endpoint answered 400 (invalid_grant)");
      expect(JSON.stringify([refused, refused.stack, watched.trouble()])).not.to.match(/canary|token-1/);

      good.add("token-2");
      answer = { body: { access_token: "token-2", expires_in: 3600 } };
      now += 60_000;
      const connection = await watched.connect({ comesBack: true });
      connection.discard();
      expect(watched.trouble()).to.equal(undefined);
    });

    const away: [what: string, answer: Answer | undefined][] = [
      ["answers 500", { status: 500, body: "<html>canary-refresh-token</html>" }],
      ["answers 429", { status: 429, body: { error: "slow_down" } }],
      ["answers HTML", { body: "<html>no token here</html>" }],
      ["answers nothing", { body: "" }],
      ["answers without a token", { body: { expires_in: 3600 } }],
      ["answers a token with a line's end in it", { body: { access_token: "token\r\nRSET" } }],
      ["answers ten megabytes", { body: `{"access_token":"token-1","padding":"${"x".repeat(10_000_000)}"}` }],
      ["leads elsewhere", { status: 302, body: "" }],
      ["closes the connection", undefined],
    ];
    it("a token endpoint that is away is reported as unavailable, and no mail is offered", async () => {
      let answer: Answer | undefined;
      const endpoint = await startEndpoint(() => answer);
      const relay = await startTokenRelay(new Set(["token-1"]));
      for (const [what, next] of away) {
        answer = next;
        const error = await provided(urlOf(relay.port, endpoint.url))
          .connect({ comesBack: true })
          .catch((reason) => reason);
        expect(error, what).to.be.instanceOf(Unavailable).and.not.instanceOf(CredentialsRefused);
        expect(error.message, what).to.include("token endpoint").and.not.include("canary");
      }
      expect(relay.shown).to.deep.equal([]);
    });
  });
});
