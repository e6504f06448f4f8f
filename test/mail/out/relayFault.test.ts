import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { NotConnected } from "#src/mail/mailProvider.ts";
import { relayFault } from "#src/mail/out/relayFault.ts";
import { createSmtpProvider } from "#src/mail/out/smtpProvider.ts";
import { certificateOf } from "#test/support/certificate.ts";

/** Causes for which a relay cannot be used, each by a real server on loopback. */
describe("the reason why a relay cannot be used", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-relay-fault-"));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const own = certificateOf("relay.test");
  const [expired, early] = [[-9, -2] as const, [2, 9] as const].map((days) => certificateOf("relay.test", { days }));
  const caOf = (name: string, { cert }: { cert: string }) => `caFile=${file(name, cert)}`;
  const trusted = `${caOf("own.pem", own)}&servername=relay.test`;

  const closing: (() => unknown)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  after(() => rmSync(directory, { recursive: true }));

  async function portOf(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  }

  const relay = (options: SMTPServerOptions) => async (): Promise<number> => {
    const server = new SMTPServer({ logger: false, disableReverseLookup: true, closeTimeout: 10, ...options });
    server.on("error", () => {});
    closing.push(() => server.close());
    return portOf(server.server);
  };
  const speaking = (speak: (socket: Socket) => void) => async (): Promise<number> => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      speak(socket);
    });
    closing.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return portOf(server);
  };
  /** A server that says only this, by the first word of each command. */
  const saying = (greeting: string, replies: Record<string, string> = {}) =>
    speaking((socket) => {
      socket.write(`${greeting}\r\n`);
      socket.on("data", (line) => {
        const reply = replies[String(line).split(/[ \r]/)[0]!];
        if (reply) socket.write(`${reply}\r\n`);
      });
    });
  const nobody = async (): Promise<number> => {
    const port = await speaking(() => {})();
    closing.splice(0).forEach((close) => void close());
    return port;
  };

  const plain: SMTPServerOptions = { disabledCommands: ["AUTH", "STARTTLS"] };
  const starting = (options: SMTPServerOptions = own) => relay({ disabledCommands: ["AUTH"], ...options });

  /** `says`: what the reason has, besides "SMTP relay: ". */
  type Row = [what: string, port: () => Promise<number>, url: (port: number) => string, says: RegExp, lasts: boolean];
  const smtp =
    (query = "") =>
    (port: number) =>
      `smtp://127.0.0.1:${port}?${query}`;
  const rows: Row[] = [
    // As postfix of Debian has it, and exim: a certificate of its own making.
    [
      "a self-signed certificate",
      starting(),
      smtp(),
      /not trusted \(self-signed certificate\).*caFile.*ignoreTLS=true.*tls\.rejectUnauthorized=false turns the check off/,
      true,
    ],
    [
      "a self-signed certificate over smtps",
      relay({ ...own, secure: true }),
      (port) => `smtps://127.0.0.1:${port}`,
      /not trusted.*caFile/,
      true,
    ],
    [
      "a certificate of another authority",
      starting(),
      smtp(caOf("other.pem", certificateOf("other.test"))),
      /not trusted.*caFile/,
      true,
    ],
    [
      "a certificate for another name",
      starting(),
      smtp(`${caOf("own.pem", own)}&servername=other.test`),
      /another name .*relay\.test.*servername/,
      true,
    ],
    [
      "a certificate that does not name the address",
      starting(),
      smtp(caOf("own.pem", own)),
      /another name .*127\.0\.0\.1.*servername/,
      true,
    ],
    [
      "an expired certificate",
      starting(expired),
      smtp(`${caOf("expired.pem", expired!)}&servername=relay.test`),
      /expired/,
      true,
    ],
    [
      "a certificate that is not valid yet",
      starting(early),
      smtp(`${caOf("early.pem", early!)}&servername=relay.test`),
      /not valid yet.*clocks/,
      true,
    ],
    [
      "TLS 1.2 where 1.3 is asked for",
      starting({ ...own, maxVersion: "TLSv1.2" }),
      smtp(`${trusted}&minVersion=TLSv1.3`),
      /no version of TLS.*minVersion/,
      true,
    ],
    [
      "TLS 1.1 alone",
      starting({ ...own, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
      smtp(trusted),
      /no version of TLS.*minVersion/,
      true,
    ],
    [
      "a wanted client certificate",
      relay({ ...own, secure: true, requestCert: true, rejectUnauthorized: true }),
      (port) => `smtps://127.0.0.1:${port}?${trusted}`,
      /certificate required.*certFile and keyFile/,
      true,
    ],
    ["no TLS behind smtps", relay(plain), (port) => `smtps://127.0.0.1:${port}`, /does not speak TLS.*smtp:\/\//, true],
    [
      "TLS from the first byte behind smtp",
      relay({ ...own, secure: true }),
      smtp(),
      /does not greet.*smtps:\/\//,
      false,
    ],
    [
      "no STARTTLS where it is required",
      relay(plain),
      smtp("requireTLS=true"),
      /starts no TLS \(500 .*requireTLS=false/,
      true,
    ],
    [
      "STARTTLS refused for now",
      saying("220 mx", { EHLO: "250-mx\r\n250 STARTTLS", STARTTLS: "454 4.7.0 no certificate" }),
      smtp(),
      /starts no TLS \(454 4\.7\.0 no certificate\)/,
      false,
    ],
    [
      "a greeting of 550",
      saying("550 5.7.1 go away"),
      smtp(),
      /refuses connections from here \(550 5\.7\.1 go away\)/,
      true,
    ],
    [
      "a greeting of 554 on two lines",
      saying("554-mx.test\r\n554 no mail service"),
      smtp(),
      /\(554-mx\.test 554 no mail service\)/,
      true,
    ],
    ["a greeting of 451", saying("451 4.3.2 starting"), smtp(), /refuses connections from here \(451/, false],
    [
      "a greeting of another protocol",
      saying("SSH-2.0-Server_9.2"),
      smtp(),
      /no SMTP server \(“SSH-2\.0-Server_9\.2”\).*host and port/,
      true,
    ],
    [
      "a refused EHLO and HELO",
      saying("220 mx", { EHLO: "550 5.7.1 bad name", HELO: "550 5.7.1 bad name" }),
      smtp(),
      /refuses our EHLO \(550 5\.7\.1 bad name\): set name /,
      true,
    ],
    [
      "a refused EHLO where TLS is required",
      saying("220 mx", { EHLO: "550 bad name" }),
      smtp("requireTLS=true"),
      /refuses our EHLO \(550 bad name\)/,
      true,
    ],
    ["nobody at the port", nobody, smtp(), /nothing listens.*ECONNREFUSED.*host and port/, false],
    ["a local address of another machine", nobody, smtp("localAddress=203.0.113.9"), /localAddress/, true],
    ["a closed connection", speaking((socket) => socket.end()), smtp(), /closed/, false],
    ["a reset connection", speaking((socket) => socket.resetAndDestroy()), smtp(), /ECONNRESET/, false],
    ["silence", speaking(() => {}), smtp(), /does not greet in time/, false],
    ["silence after the greeting", saying("220 mx"), smtp(), /not ready within/, false],
  ];
  for (const [what, open, urlOf, says, lasts] of rows) {
    it(`${what} is named with what helps`, async () => {
      const isSilent = /does not greet|not ready/.test(says.source);
      const provider = createSmtpProvider(urlOf(await open()), { readyMs: isSilent ? 1_500 : 20_000 });
      const error = await provider.connect({ comesBack: true }).catch((caught) => caught);
      await provider.close();
      expect(error).to.be.instanceOf(NotConnected);
      expect(error.message)
        .to.match(/^SMTP relay: /)
        .and.to.match(says)
        .and.to.match(/^.{1,300}$/);
      expect(error.lasts).to.equal(lasts);
    });
  }

  for (const [originalCode, says] of [
    ["ENOTFOUND", /host name is unknown \(ENOTFOUND\).*host in SMTP_URL/],
    ["ESERVFAIL", /host name cannot be looked up \(ESERVFAIL\)/],
    ["EAI_AGAIN", /host name cannot be looked up \(EAI_AGAIN\)/],
  ] as const) {
    it(`a host name that is not found (${originalCode}) may be found later`, () => {
      const error = Object.assign(new Error(`query ${originalCode}`), { code: "EDNS", originalCode });
      expect(relayFault(error, (words) => words))
        .to.include({ lasts: false })
        .with.property("message")
        .that.matches(says);
    });
  }

  it("the reason has none of the relay's control characters, and no password", async () => {
    const port = await saying("550 a\u001b[31mred\u0000 secret-word")();
    const provider = createSmtpProvider(`smtp://agent:secret-word@127.0.0.1:${port}`, { readyMs: 20_000 });
    const error = await provider.connect({ comesBack: true }).catch((caught) => caught);
    expect(error.message)
      .to.include("550 a")
      .and.not.match(/[\p{Cc}]|secret-word/u);
  });
});
