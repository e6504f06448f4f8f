import { writeFileSync } from "node:fs";
import { mkdtemp, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { createTransport } from "nodemailer";
import pino from "pino";
import type { MailTransaction, Reception } from "#src/mail/in/reception.ts";
import { type Certificate, openCertificate, type Pem } from "#src/mail/in/smtp/certificate.ts";
import { createSmtpReceiver, type SmtpReceiver, type SmtpReceiverOptions } from "#src/mail/in/smtpReceiver.ts";
import { StartError } from "#src/platform/startError.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { type Sender, startSender, startTls } from "../smtpSender.ts";

const to = "agent@agents.example";
const name = "mx.agents.example";
const relay = "127.0.0.1";
const [ann, bob] = ["127.0.0.2", "127.0.0.3"];

describe("STARTTLS of the SMTP receiver", () => {
  const [first, second] = [certificateOf(name), certificateOf(name)];
  let receiver: SmtpReceiver;
  let taken: MailTransaction[];
  const reception: Reception = {
    resolve: async (address) =>
      address.startsWith("no") ? undefined : { kind: "identity", identityId: address, workspaceId: "w" },
    async accept(transaction) {
      taken.push(transaction);
    },
  };

  const start = async (options: Partial<SmtpReceiverOptions> = {}) => {
    taken = [];
    receiver = await createSmtpReceiver({
      ...{ reception, port: 0, host: "127.0.0.1", logger: pino({ level: "silent" }), tls: first, closeMs: 1_000 },
      ...{ relays: [relay], xclient: true },
      ...options,
    });
  };
  afterEach(() => receiver.close());

  const connect = (address = ann, line = "") => startSender(receiver.port, line, address);
  const secured = async (address = ann) => startTls(await connect(address), { servername: name });

  async function send(sender: Omit<Sender, "greeting">, recipient = to): Promise<string> {
    for (const line of ["EHLO mx.example", "MAIL FROM:<c@kunde.example>", `RCPT TO:<${recipient}>`, "DATA"]) {
      const answer = await sender.say(line);
      if (!/^(250|354)/.test(answer)) return answer;
    }
    return sender.say("x\r\n.");
  }

  it("STARTTLS is offered once, with a certificate that a client can verify, and is not required", async () => {
    await start();
    const sender = await connect();
    expect(await sender.say("EHLO a")).to.match(/STARTTLS/);
    const { tls, say } = await startTls(sender, { ca: first.cert, rejectUnauthorized: true, servername: name });
    expect(tls.authorized).to.equal(true);
    expect(await say("EHLO a")).to.not.match(/STARTTLS|AUTH/);
    expect(await say("STARTTLS")).to.match(/^503/);
    const transport = createTransport({
      ...{ host: "127.0.0.1", port: receiver.port, requireTLS: true },
      tls: { ca: first.cert, servername: name },
    });
    await transport.sendMail({ from: "c@kunde.example", to, subject: "Encrypted", text: "x" });
    transport.close();
    expect(taken[0]?.raw.toString()).to.contain("Subject: Encrypted");
    // Mail without TLS is accepted too.
    expect(await send(await connect())).to.match(/^250/);
  });

  it("STARTTLS needs TLS 1.2 or newer", async () => {
    await start();
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const { tls } = await startTls(await connect(), { minVersion: version, maxVersion: version });
      expect(tls.getProtocol()).to.equal(version);
    }
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    const refused = await startTls(await connect(), old).catch((error) => error);
    expect(refused).to.be.instanceOf(Error);
    expect(String(refused)).to.match(/protocol version|unsupported protocol/i);
  });

  describe("what was sent before STARTTLS", () => {
    const injections = {
      "a command": "RSET\r\nMAIL FROM:<evil@kunde.example>\r\n",
      "a whole mail": `EHLO a\r\nMAIL FROM:<evil@kunde.example>\r\nRCPT TO:<${to}>\r\nDATA\r\nSubject: injected\r\n\r\nx\r\n.\r\n`,
      "hundreds of lines": "NOOP\r\n".repeat(500),
      "half a command, that the other half would complete": "MAIL FROM:<evil@kunde.example> SIZE=1",
    };
    for (const [what, after] of Object.entries(injections)) {
      it(`${what} in one piece with STARTTLS is not executed after the handshake`, async () => {
        await start();
        const sender = await connect();
        await sender.say("EHLO a");
        const { say } = await startTls(sender, { after });
        expect(await say("NOOP")).to.match(/^250 2\.0\.0 OK/);
        expect(await say("RCPT TO:<x@agents.example>")).to.match(/^503/);
        expect(await send(await secured())).to.match(/^250/);
        expect(taken.map(({ from }) => from)).to.deep.equal(["c@kunde.example"]);
      });
    }

    it("greeting, sender and recipients from before STARTTLS are forgotten", async () => {
      await start();
      const sender = await connect();
      for (const line of ["EHLO plain.example", "MAIL FROM:<evil@kunde.example>", `RCPT TO:<${to}>`])
        expect(await sender.say(line)).to.match(/^250/);
      const { say } = await startTls(sender);
      expect(await say("DATA")).to.match(/^503/);
      expect(await say("MAIL FROM:<c@kunde.example>")).to.match(/^503/);
      await say("EHLO secure.example");
      expect(await say(`RCPT TO:<${to}>`)).to.match(/^503/);
      expect(await say("MAIL FROM:<c@kunde.example>")).to.match(/^250/);
      await say(`RCPT TO:<${to}>`);
      await say("DATA");
      expect(await say("x\r\n.")).to.match(/^250/);
      expect(taken).to.have.length(1);
      expect(taken[0]).to.deep.include({ from: "c@kunde.example", remote: { ip: ann, helo: "secure.example" } });
    });
  });

  describe("limits after STARTTLS", () => {
    it("a connection that never continues its TLS handshake counts as one until its time is over", async () => {
      await start({ limits: { connections: 1, sessionMs: 1_500 } });
      const sender = await connect();
      expect(await sender.say("STARTTLS")).to.match(/^220/);
      expect((await connect()).greeting).to.match(/^421/);
      await sender.closed;
      await until(async () => (await connect()).greeting.startsWith("220"));
    });

    it("a session's time and unknown recipients are limited after STARTTLS too", async () => {
      await start();
      const guessing = await secured(bob);
      await guessing.say("EHLO a");
      await guessing.say("MAIL FROM:<>");
      for (let n = 0; n < 10; n++) expect(await guessing.say(`RCPT TO:<no${n}@agents.example>`)).to.match(/^550/);
      expect(await guessing.reply()).to.match(/^421 .*unknown recipients/);
      await receiver.close();
      await start({ limits: { sessionMs: 1_000 } });
      expect(await (await secured()).reply()).to.match(/^421 .*lasted too long/);
    });

    it("an address has one SMTP budget with and without STARTTLS, also by XCLIENT", async () => {
      await start({ budget: { messages: 1 } });
      expect(await send(await secured())).to.match(/^250/);
      expect(await send(await secured())).to.match(/^452/);
      expect(await send(await connect())).to.match(/^452/);
      const named = async () => {
        const sender = await secured(relay);
        expect(await sender.say("EHLO relay.example")).to.match(/XCLIENT/);
        expect(await sender.say("XCLIENT ADDR=203.0.113.7")).to.match(/^220/);
        return send(sender);
      };
      expect(await named()).to.match(/^250/);
      expect(await named()).to.match(/^452/);
      expect(taken.map(({ remote }) => remote.ip)).to.deep.equal([ann, "203.0.113.7"]);
    });

    it("only relays name clients after STARTTLS, and a PROXY line counts only before it", async () => {
      await start();
      const stranger = await secured();
      expect(await stranger.say("EHLO a")).to.not.match(/XCLIENT/);
      expect(await stranger.say("XCLIENT ADDR=203.0.113.7")).to.match(/^5/);
      await receiver.close();
      await start({ proxied: true });
      const line = "PROXY TCP4 203.0.113.8 192.0.2.1 51000 25\r\n";
      const behind = await startTls(await connect(relay, line));
      expect(await behind.say("PROXY TCP4 203.0.113.9 192.0.2.1 51000 25")).to.match(/^5/);
      expect(await behind.say("XCLIENT ADDR=203.0.113.9")).to.match(/^5/);
      expect(await send(behind)).to.match(/^250/);
      expect(taken[0]?.remote).to.deep.equal({ ip: "203.0.113.8", helo: "mx.example" });
    });
  });

  it("the SMTP receiver closes in the middle of a TLS handshake", async () => {
    await start({ closeMs: 100 });
    const sender = await connect();
    expect(await sender.say("STARTTLS")).to.match(/^220/);
    await receiver.close();
    await sender.closed;
  });

  describe("the certificate files of STARTTLS", () => {
    let folder: string;
    let files: { certFile: string; keyFile: string };
    let certificate: Certificate;
    let said: { level: string; fault?: string }[];
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "countersign-certificate-"));
      files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
      said = [];
      write(first);
      const log = {
        info: () => void said.push({ level: "info" }),
        warn: ({ fault }: { fault: string }) => void said.push({ level: "warn", fault }),
      };
      certificate = await openCertificate(files, { log: log as never, everyMs: 10 });
      await start({ tls: certificate.pem });
      certificate.watch(receiver.useCertificate);
    });
    afterEach(async () => {
      certificate.close();
      await rm(folder, { recursive: true });
    });

    /** Writes both files before the next check, because two checks that find only one of them log a warning. */
    const write = ({ cert, key }: Pem) => {
      writeFileSync(files.certFile, cert);
      writeFileSync(files.keyFile, key);
    };
    const isShown = async ({ cert }: Pem) => {
      const sender = await connect(relay);
      const { tls } = await startTls(sender);
      const shown = tls.getPeerX509Certificate()!.toString();
      tls.destroy();
      return shown === cert;
    };

    it("new connections get the renewed certificate while open ones continue with the old one", async () => {
      const before = await secured();
      expect(await isShown(first)).to.equal(true);
      write(second);
      await until(() => isShown(second));
      expect(await send(before)).to.match(/^250/);
      expect(said).to.deep.equal([{ level: "info" }]);
    });

    it("a certificate file replaced by a symbolic link is read again", async () => {
      await writeFile(join(folder, "new.pem"), second.cert + second.key);
      for (const file of [files.certFile, files.keyFile]) {
        await unlink(file);
        await symlink(join(folder, "new.pem"), file);
      }
      await until(() => isShown(second));
    });

    for (const [what, change, fault] of [
      ["is none", { cert: "no certificate", key: second.key }, /SMTP_IN_TLS_CERT \(.*cert\.pem\) holds no certificate/],
      ["is empty", { cert: "", key: "" }, /SMTP_IN_TLS_CERT \(.*\) holds no certificate/],
      ["has another key", { cert: second.cert, key: first.key }, /SMTP_IN_TLS_KEY \(.*key\.pem\) is not that of/],
      ["has no key", { cert: second.cert, key: second.cert }, /SMTP_IN_TLS_KEY \(.*\) holds no private key/],
    ] as const) {
      it(`the old certificate stays if the new one ${what}, with one warning until a valid one follows`, async () => {
        write(change);
        await until(async () => said.length > 0);
        expect(await isShown(first)).to.equal(true);
        write(second);
        await until(() => isShown(second));
        const [followed, ...warnings] = said.toReversed();
        expect(followed?.level).to.equal("info");
        const faults = warnings.map((each) => each.fault);
        expect(faults[0]).to.match(fault).and.not.include("BEGIN");
        // A look between the writes of both files sees, and says, another fault.
        expect(new Set(faults).size, faults.join()).to.equal(faults.length);
      });
    }

    it("unreadable or mismatched certificate files stop the start with a sentence that names the setting", async () => {
      const log = { info() {}, warn() {} } as never;
      const missing = await openCertificate({ ...files, keyFile: join(folder, "none.pem") }, { log }).catch((e) => e);
      expect(missing).to.be.instanceOf(StartError);
      expect(missing.message).to.match(/^SMTP_IN_TLS_KEY \(.*none\.pem\) cannot be read: ENOENT\.$/);
      write({ cert: first.cert, key: second.key });
      const mixed = await openCertificate(files, { log }).catch((e) => e);
      expect(mixed.message).to.match(/^The key of SMTP_IN_TLS_KEY .* is not that of the certificate/);
    });
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`still not so: ${isSo}`);
    await pause(10);
  }
}
