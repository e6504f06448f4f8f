import { type AddressInfo, createServer } from "node:net";
import { expect } from "chai";
import { createTransport } from "nodemailer";
import pino from "pino";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MailTransaction, Reception } from "#src/mail/in/reception.ts";
import { createSmtpReceiver, type SmtpReceiver, type SmtpReceiverOptions } from "#src/mail/in/smtpReceiver.ts";
import { startMail, startSender } from "./smtpSender.ts";

const logger = pino({ level: "silent" });

/** A mail with one of its recipients. */
type Copy = Omit<MailTransaction, "recipients"> & MailTransaction["recipients"][number];

const copiesOf = ({ recipients, ...mail }: MailTransaction): Copy[] => recipients.map((each) => ({ ...each, ...mail }));

/** A reception in memory that accepts mail for agents.example. Tests replace its functions. */
function inMemory(): Reception & { taken: Copy[]; transactions: number } {
  const taken: Copy[] = [];
  return {
    taken,
    transactions: 0,
    async resolve(address) {
      if (address === "approvals@agents.example") return { kind: "approvals" };
      return address.endsWith("@agents.example")
        ? { kind: "identity", identityId: address, workspaceId: "w" }
        : undefined;
    },
    async accept(transaction) {
      this.transactions++;
      taken.push(...copiesOf(transaction));
    },
  };
}

describe("the SMTP receiver", () => {
  let reception: ReturnType<typeof inMemory>;
  let receiver: SmtpReceiver;

  const start = async (options: Partial<SmtpReceiverOptions> = {}) => {
    await receiver?.close();
    const limits = { connections: 100 };
    receiver = await createSmtpReceiver({
      ...{ reception, port: 0, host: "127.0.0.1", logger, limits, closeMs: 2_000 },
      ...options,
    });
  };
  beforeEach(async () => {
    reception = inMemory();
    await start();
  });
  afterEach(() => receiver.close());

  it("the SMTP receiver passes on envelope and exact bytes before it answers 250", async () => {
    const sender = await startMail(receiver.port);
    expect(await sender.say("Subject: x\r\n\r\n..leading dot\r\n...\r\nnaïve \xfc\0\r\nbare\nline\r\n.")).to.match(
      /^250 2\.6\.0/,
    );
    const [delivery] = reception.taken;
    expect(delivery).to.deep.include({
      recipient: { kind: "identity", identityId: "agent@agents.example", workspaceId: "w" },
      address: "agent@agents.example",
      from: "c@kunde.example",
      remote: { ip: "127.0.0.1", helo: "mail.kunde.example" },
    });
    expect(delivery?.raw).to.deep.equal(
      Buffer.from("Subject: x\r\n\r\n.leading dot\r\n..\r\nnaïve \xfc\0\r\nbare\nline\r\n"),
    );
  });

  it("the SMTP receiver behind a proxy takes the client's address from its PROXY header and closes without one", async () => {
    await start({ proxied: true, relays: ["127.0.0.0/8"] });
    const sender = await startSender(receiver.port, "PROXY TCP4 203.0.113.7 192.0.2.1 51000 25\r\n");
    for (const line of ["EHLO mail.kunde.example", "MAIL FROM:<c@kunde.example>", "RCPT TO:<agent@agents.example>"])
      expect(await sender.say(line)).to.match(/^250/);
    await sender.say("DATA");
    expect(await sender.say("Subject: x\r\n\r\n.")).to.match(/^250/);
    expect(reception.taken[0]?.remote).to.deep.equal({ ip: "203.0.113.7", helo: "mail.kunde.example" });
    // 100.64.0.9, by version 2.
    const binary = "\r\n\r\n\0\r\nQUIT\n!\x11\0\x0cd@\0\x09d@\0\x01\0\x50\0\x19";
    const second = await startSender(receiver.port, binary);
    for (const line of ["EHLO mail.kunde.example", "MAIL FROM:<c@kunde.example>", "RCPT TO:<agent@agents.example>"])
      expect(await second.say(line)).to.match(/^250/);
    await second.say("DATA");
    expect(await second.say("Subject: y\r\n\r\n.")).to.match(/^250/);
    expect(reception.taken[1]?.remote).to.deep.equal({ ip: "100.64.0.9", helo: "mail.kunde.example" });
    const direct = await startSender(receiver.port, "EHLO mail.kunde.example\r\n").catch((error) => error.message);
    expect(direct).to.equal("the SMTP connection was closed");
  });

  it("the SMTP receiver keeps bytes that are not UTF-8", async () => {
    const content = Buffer.from("Subject: \xfc\xff\r\n\r\n\x80\x00\xc3\r\n", "latin1");
    const sender = await startMail(receiver.port);
    await sender.write(content);
    await sender.say(".");
    expect(reception.taken[0]?.raw.equals(content)).to.equal(true);
  });

  it("the SMTP receiver answers 250 only after the mail is stored", async () => {
    let store = () => {};
    reception.accept = () =>
      new Promise((resolve) => {
        store = resolve;
      });
    const sender = await startMail(receiver.port);
    let answered = false;
    const reply = sender.say("x\r\n.").then((line) => {
      answered = true;
      return line;
    });
    while (String(store) === "() => {}") await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).to.equal(false);
    store();
    expect(await reply).to.match(/^250/);
  });

  it("the SMTP receiver accepts a null sender, and mail to the approvals address", async () => {
    const sender = await startMail(receiver.port, ["approvals@agents.example"], "");
    expect(await sender.say("x\r\n.")).to.match(/^250/);
    expect(reception.taken[0]).to.deep.include({ from: "", recipient: { kind: "approvals" } });
  });

  it("the SMTP receiver refuses an unknown recipient with 550 5.1.1 and accepts the others", async () => {
    const sender = await startSender(receiver.port);
    await sender.say("EHLO a");
    await sender.say("MAIL FROM:<c@kunde.example>");
    expect(await sender.say("RCPT TO:<nobody@else.example>")).to.match(/^550 5\.1\.1 /);
    expect(await sender.say("DATA")).to.match(/^503/);
    expect(await sender.say("RCPT TO:<agent@agents.example>")).to.match(/^250/);
    await sender.say("DATA");
    expect(await sender.say("x\r\n.")).to.match(/^250/);
    expect(reception.taken.map(({ address }) => address)).to.deep.equal(["agent@agents.example"]);
  });

  it("the SMTP receiver looks recipients up again after the final dot", async () => {
    const gone = new Set<string>();
    const { resolve } = reception;
    reception.resolve = async (address) => (gone.has(address) ? undefined : resolve(address));
    const one = await startMail(receiver.port, ["a@agents.example"]);
    const two = await startMail(receiver.port, ["a@agents.example", "b@agents.example"]);
    gone.add("a@agents.example");
    expect(await one.say("x\r\n.")).to.match(/^550 5\.1\.1 /);
    expect(await two.say("x\r\n.")).to.match(/^451 4\.3\.0 /);
    expect(reception.taken).to.deep.equal([]);
  });

  it("the SMTP receiver accepts one mail for 100 recipients as one transaction, and refuses recipient 101", async () => {
    const addresses = Array.from({ length: 100 }, (_, n) => `a${n}@agents.example`);
    const sender = await startSender(receiver.port);
    await sender.say("EHLO a");
    await sender.say("MAIL FROM:<>");
    for (const address of addresses) expect(await sender.say(`RCPT TO:<${address}>`)).to.match(/^250/);
    expect(await sender.say("RCPT TO:<a100@agents.example>")).to.match(/^452 4\.5\.3/);
    await sender.say("DATA");
    expect(await sender.say("x\r\n.")).to.match(/^250/);
    expect(reception.taken.map(({ address }) => address)).to.deep.equal(addresses);
    expect(reception.transactions).to.equal(1);
  });

  it("the SMTP receiver answers 451 4.3.0 if storage or anything else fails, and works afterwards", async () => {
    const { accept, resolve } = inMemory();
    for (const error of [new Unavailable("the database is away"), new TypeError("a bug")]) {
      reception.accept = () => Promise.reject(error);
      const sender = await startMail(receiver.port);
      expect(await sender.say("x\r\n.")).to.match(/^451 4\.3\.0 (?!.*(?:database|bug))/);
      reception.resolve = () => Promise.reject(error);
      await sender.say("MAIL FROM:<>");
      expect(await sender.say("RCPT TO:<a@agents.example>")).to.match(/^451 4\.3\.0 /);
      Object.assign(reception, { accept, resolve });
      expect(await sender.say("RCPT TO:<a@agents.example>")).to.match(/^250/);
      await sender.say("DATA");
      expect(await sender.say("x\r\n.")).to.match(/^250/);
    }
  });

  describe("SMTP size limits", () => {
    beforeEach(() => start({ maxBytes: 100_000 }));

    it("the SMTP receiver announces its size limit and refuses a larger SIZE with 552 5.3.4", async () => {
      const sender = await startSender(receiver.port);
      expect(await sender.say("EHLO a")).to.match(/^250[- ]SIZE 100000\r?$/m);
      expect(await sender.say("MAIL FROM:<> SIZE=100001")).to.match(/^552 5\.3\.4 /);
      expect(await sender.say("MAIL FROM:<> SIZE=100000")).to.match(/^250/);
    });

    it("the SMTP receiver accepts a mail of exactly the limit and answers 552 5.3.4 to one byte more", async () => {
      for (const [bytes, code] of [
        [100_000, /^250/],
        [100_001, /^552 5\.3\.4 /],
      ] as const) {
        const sender = await startMail(receiver.port);
        await sender.write("x".repeat(bytes - 2));
        expect(await sender.say("\r\n.")).to.match(code);
      }
      expect(reception.taken.map(({ raw }) => raw.length)).to.deep.equal([100_000]);
    });

    it("the SMTP receiver accepts the next mail of a sender whose mail was too large", async () => {
      const sender = await startMail(receiver.port);
      await sender.write("x".repeat(150_000));
      expect(await sender.say("\r\n.")).to.match(/^552/);
      await sender.say("MAIL FROM:<>");
      await sender.say("RCPT TO:<a@agents.example>");
      await sender.say("DATA");
      expect(await sender.say("x\r\n.")).to.match(/^250/);
    });

    it("the SMTP receiver disconnects a sender whose content never ends", async () => {
      const sender = await startMail(receiver.port);
      const reply = sender.reply();
      for (let n = 0; n < 1_000 && !sender.socket.destroyed; n++)
        await sender.write("x".repeat(10_000)).catch(() => {});
      expect(await reply).to.match(/^552 5\.3\.4 /);
      await sender.closed;
      expect(reception.taken).to.deep.equal([]);
    });
  });

  it("the SMTP receiver answers 451 while too many bytes are buffered, and accepts mail again afterwards", async () => {
    await start({ maxBufferedBytes: 3_000_000, maxBytes: 2_000_000 });
    const half = await startMail(receiver.port);
    await half.write(Buffer.alloc(1_900_000, "x"));
    await eventually(async () => {
      const other = await startMail(receiver.port);
      await other.write(Buffer.alloc(1_900_000, "y"));
      expect(await other.say("\r\n.")).to.match(/^451 4\.3\.0 /);
    });
    half.hangUp("destroy");
    await eventually(async () => {
      const third = await startMail(receiver.port);
      await third.write(Buffer.alloc(1_900_000, "z"));
      expect(await third.say("\r\n.")).to.match(/^250/);
    });
  });

  it("the SMTP receiver accepts 30 MB in one line", async () => {
    const line = Buffer.alloc(30 * 1024 * 1024 - 2, "x");
    const sender = await startMail(receiver.port);
    await sender.write(line);
    expect(await sender.say("\r\n.")).to.match(/^250/);
    expect(reception.taken[0]?.raw.length).to.equal(30 * 1024 * 1024);
  });

  it("the SMTP receiver disconnects a sender whose command never ends", async () => {
    const sender = await startSender(receiver.port);
    const reply = sender.reply();
    await sender.write("EHLO ".repeat(20_000));
    expect(await reply).to.match(/^421 /);
    await sender.closed;
  });

  it("the SMTP receiver accepts pipelined commands and several mails on one connection", async () => {
    const sender = await startSender(receiver.port);
    await sender.say("EHLO a");
    const mails = 20;
    for (let n = 0; n < mails; n++) {
      await sender.write(`MAIL FROM:<>\r\nRCPT TO:<a@agents.example>\r\nRCPT TO:<b@agents.example>\r\nDATA\r\n`);
      for (const code of [250, 250, 250, 354]) expect(await sender.reply()).to.match(new RegExp(`^${code}`));
      await sender.write(`mail ${n}\r\n.\r\nRSET\r\n`);
      for (const code of [250, 250]) expect(await sender.reply()).to.match(new RegExp(`^${code}`));
    }
    expect(reception.taken).to.have.length(2 * mails);
    expect(reception.taken.at(-1)?.raw.toString()).to.equal(`mail ${mails - 1}\r\n`);
  });

  it("the SMTP receiver finds the final dot however the bytes are cut", async () => {
    const content = "a\r\n..\r\n.b\n.\nc\r\n..\r\n\r\n";
    const wire = `${content}.\r\n`;
    for (let size = 1; size <= wire.length; size++) {
      const sender = await startMail(receiver.port);
      sender.socket.setNoDelay(true);
      const reply = sender.reply();
      for (let at = 0; at < wire.length; at += size) {
        await sender.write(wire.slice(at, at + size));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await reply, `pieces of ${size}`).to.match(/^250/);
      expect(reception.taken.at(-1)?.raw.toString()).to.equal("a\r\n.\r\n.b\n.\nc\r\n.\r\n\r\n");
    }
  });

  it("the SMTP receiver stores nothing from a sender who disconnects before the final dot", async () => {
    const dialogue = [
      "EHLO a\r\n",
      "MAIL FROM:<c@kunde.example>\r\n",
      "RCPT TO:<a@agents.example>\r\n",
      "DATA\r\n",
      "Subject: x\r\n\r\nhalf a mail\r\n",
      ".",
    ];
    for (let steps = 0; steps <= dialogue.length; steps++)
      for (const how of ["end", "destroy"] as const) {
        const sender = await startSender(receiver.port);
        for (const step of dialogue.slice(0, steps)) {
          await sender.write(step);
          if (step.endsWith("\r\n") && !step.startsWith("Subject")) await sender.reply();
        }
        sender.hangUp(how);
        await sender.closed;
      }
    const last = await startMail(receiver.port);
    expect(await last.say("whole\r\n.")).to.match(/^250/);
    expect(reception.taken.map(({ raw }) => raw.toString())).to.deep.equal(["whole\r\n"]);
  });

  it("the SMTP receiver stores a complete mail whose sender disconnects before the answer", async () => {
    const stored = new Promise<MailTransaction>((resolve) => {
      reception.accept = async (transaction) => resolve(transaction);
    });
    const sender = await startMail(receiver.port);
    await sender.write("whole\r\n.\r\n");
    sender.hangUp("end");
    expect((await stored).raw.toString()).to.equal("whole\r\n");
  });

  it("the SMTP receiver offers neither AUTH nor, without a certificate, STARTTLS", async () => {
    const sender = await startSender(receiver.port);
    expect(await sender.say("EHLO a")).to.not.match(/AUTH|STARTTLS/);
    expect(await sender.say("AUTH PLAIN AGEAYg==")).to.match(/^5/);
    expect(await sender.say("STARTTLS")).to.match(/^5/);
  });

  it("the SMTP receiver refuses a sender address of 2,000 characters", async () => {
    const sender = await startSender(receiver.port);
    await sender.say("EHLO a");
    expect(await sender.say(`MAIL FROM:<${"x".repeat(2_000)}@y.example>`)).to.match(/^501/);
  });

  it("the SMTP receiver accepts quoted and unusual sender addresses, and a quoted recipient", async () => {
    const froms = {
      '"odd user"@customer.example': '"odd user"@customer.example',
      '"a@b"@customer.example': '"a@b"@customer.example',
      '"yui..tanaka"@mobile.example': "yui..tanaka@mobile.example",
      "yui..tanaka@mobile.example": "yui..tanaka@mobile.example",
      "yui.@mobile.example": "yui.@mobile.example",
      "bounce@mail_1.customer.example": "bounce@mail_1.customer.example",
      '@relay.example:"odd user"@customer.example': '"odd user"@customer.example',
    };
    for (const [written, from] of Object.entries(froms)) {
      const sender = await startSender(receiver.port);
      await sender.say("EHLO a");
      expect(await sender.say(`MAIL FROM:<${written}> SIZE=100`), written).to.match(/^250/);
      expect(await sender.say('RCPT TO:<"agent"@agents.example>'), written).to.match(/^250/);
      await sender.say("DATA");
      expect(await sender.say("Subject: x\r\n\r\n.")).to.match(/^250/);
      expect(reception.taken.at(-1), written).to.deep.include({ from, address: "agent@agents.example" });
      sender.hangUp("end");
    }
    const sender = await startSender(receiver.port);
    await sender.say("EHLO a");
    for (const broken of ['"odd user@x.example', '""@', '"a\u0001b"@x.example', "a b@x.example"])
      expect(await sender.say(`MAIL FROM:<${broken}>`), broken).to.match(/^501/);
    expect(await sender.say('MAIL FROM:<"a b"@x.example> SIZE=999999999')).to.match(/^552/);
  });

  it("the SMTP receiver accepts a mail from Nodemailer", async () => {
    const transport = createTransport({ host: "127.0.0.1", port: receiver.port, ignoreTLS: true });
    const sent = await transport.sendMail({
      from: "Mara Löw <mara@kunde.example>",
      to: ["a@agents.example", "b@agents.example"],
      subject: "Grüße",
      text: ".\n..\nhello\n",
      attachments: [{ filename: "big.bin", content: Buffer.alloc(3_000_000, 7) }],
    });
    transport.close();
    expect(sent.accepted).to.deep.equal(["a@agents.example", "b@agents.example"]);
    expect(reception.taken).to.have.length(2);
    expect(reception.taken[0]?.raw.toString()).to.contain(`Message-ID: ${sent.messageId}`);
  });

  it("the SMTP receiver closes connections above its limit and keeps the others", async () => {
    await start({ maxConnections: 2 });
    const senders = [await startSender(receiver.port), await startSender(receiver.port)];
    const third = await startSender(receiver.port);
    await third.closed;
    expect(await senders[0]!.say("NOOP")).to.match(/^250/);
  });

  describe("closing the SMTP receiver", () => {
    it("a closing SMTP receiver finishes the mail in progress, disconnects idle senders and accepts no more", async () => {
      let store = () => {};
      const storing = new Promise<void>((begun) => {
        reception.accept = (transaction) => {
          begun();
          return new Promise((resolve) => {
            store = () => {
              reception.taken.push(...copiesOf(transaction));
              resolve();
            };
          });
        };
      });
      const idle = await startSender(receiver.port);
      const busy = await startMail(receiver.port);
      const reply = busy.say("x\r\n.");
      await storing;
      const closed = receiver.close();
      await idle.closed;
      expect(
        await startSender(receiver.port).then(
          () => "connected",
          () => "refused",
        ),
      ).to.equal("refused");
      store();
      expect(await reply).to.match(/^250/);
      await closed;
      expect(reception.taken).to.have.length(1);
    });

    it("a closing SMTP receiver does not wait for a silent sender beyond its time", async () => {
      await start({ closeMs: 100 });
      const silent = await startMail(receiver.port);
      await silent.write("half");
      await receiver.close();
      await silent.closed;
      expect(reception.taken).to.deep.equal([]);
    });
  });

  it("an SMTP port in use stops the start with a sentence that names the setting", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const error = await createSmtpReceiver({ reception, port, host: "127.0.0.1", logger }).catch((caught) => caught);
    other.close();
    expect(error.name).to.equal("StartError");
    expect(error.message).to.contain(`127.0.0.1:${port}`).and.to.contain("in use").and.to.contain("SMTP_IN_PORT");
  });
});

async function eventually(attempt: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
