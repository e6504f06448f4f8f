import { once } from "node:events";
import { createConnection } from "node:net";
import { expect } from "chai";
import { createTransport } from "nodemailer";
import pino from "pino";
import type { MailTransaction, Reception } from "#src/mail/in/reception.ts";
import { createSmtpReceiver, type SmtpReceiver, type SmtpReceiverOptions } from "#src/mail/in/smtpReceiver.ts";
import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import { barrier } from "#test/http/framework/support.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { sized } from "#test/support/full.ts";
import { type Sender, startSender } from "../smtpSender.ts";

/** Addresses in 127.0.0.0/8, all of which are this machine: one relay, and strangers. */
const relay = "127.0.0.1";
const [ann, bob] = ["127.0.0.2", "127.0.0.3"];
const to = "agent@agents.example";

describe("limits of the SMTP receiver", () => {
  let receiver: SmtpReceiver;
  let taken: MailTransaction[];
  let refusals: MailRefusal[];
  let reception: Reception;
  let lookUps: { address: string; anew: boolean }[];

  /** Tagged addresses belong to the same identity; addresses that begin with `no` are unknown. */
  beforeEach(() => {
    [taken, refusals, lookUps] = [[], [], []];
    reception = {
      async resolve(address, { anew = false } = {}) {
        lookUps.push({ address, anew });
        const identityId = address.replace(/\+[^@]*/, "");
        return address.startsWith("no") ? undefined : { kind: "identity", identityId, workspaceId: "w" };
      },
      async accept(transaction) {
        taken.push(transaction);
      },
    };
  });
  const start = async (options: Partial<SmtpReceiverOptions> = {}) => {
    receiver = await createSmtpReceiver({
      ...{ reception, port: 0, host: "127.0.0.1", logger: pino({ level: "silent" }), relays: [relay], xclient: true },
      metrics: { mailRefused: (reason) => void refusals.push(reason) },
      closeMs: 1_000,
      ...options,
    });
  };
  afterEach(() => receiver.close());

  const connect = (address: string, first = "") => startSender(receiver.port, first, address);
  const connectMany = (count: number, address: string) =>
    Promise.all(Array.from({ length: count }, () => connect(address)));

  /** Speaks up to DATA. Returns "354", or the first refusal. */
  async function offer(sender: Sender, recipients = [to]): Promise<string> {
    const lines = ["EHLO mx.example", "MAIL FROM:<c@kunde.example>", ...recipients.map((each) => `RCPT TO:<${each}>`)];
    for (const line of [...lines, "DATA"]) {
      const answer = await sender.say(line);
      if (!/^(250|354)/.test(answer)) return answer;
    }
    return "354";
  }

  async function send(sender: Sender, { recipients = [to], content = "x" } = {}): Promise<string> {
    const answer = await offer(sender, recipients);
    return answer === "354" ? sender.say(`${content}\r\n.`) : answer;
  }

  const sendFrom = async (address: string, mail?: { recipients?: string[]; content?: string }): Promise<string> => {
    const sender = await connect(address);
    const answer = await send(sender, mail);
    sender.hangUp("end");
    await sender.closed;
    return answer;
  };

  it("one address has at most 20 SMTP connections; further ones get 421, and other addresses connect", async () => {
    await start();
    const many = await Promise.all(Array.from({ length: sized(40, 200) }, () => connectAndListen(ann)));
    const greeted = many.filter(({ greeting }) => greeting.startsWith("220"));
    expect(greeted).to.have.length(20);
    for (const { greeting } of many.filter((each) => !greeted.includes(each)))
      expect(greeting).to.match(/^421 4\.7\.0 Too many connections from your address, please try again later$/);
    expect(refusals.filter((reason) => reason === "connections_of_address")).to.have.length(many.length - 20);
    expect(await sendFrom(bob)).to.match(/^250/);
    greeted[0]?.sender.hangUp("end");
    // Repeated until the receiver has noticed the closed connection.
    let next = await connect(ann);
    while (next.greeting.startsWith("421")) next = await connect(ann);
    expect(await send(next)).to.match(/^250/);
  });

  it("refused SMTP connections count for nothing: a relay and other addresses still connect", async () => {
    await start({ limits: { connections: 2 }, maxConnections: 3 });
    await Promise.all(Array.from({ length: sized(30, 200) }, () => connectAndListen(ann)));
    expect(await sendFrom(bob)).to.match(/^250/);
    expect((await connect(bob)).greeting).to.match(/^220/);
    const { greeting } = await connectAndListen("127.0.0.4");
    expect(greeting).to.match(/^421 4\.7\.0 Too many connections, please/);
    expect(refusals.at(-1)).to.equal("connections");
    expect(await sendFrom(relay)).to.match(/^250/);
  });

  it("a closed SMTP connection no longer counts, also after STARTTLS", async () => {
    await start({ limits: { connections: 3 }, tls: certificateOf("mx.agents.example") });
    for (let n = 0; n < 6; n++) {
      const transport = createTransport({
        ...{ host: "127.0.0.1", port: receiver.port, localAddress: ann, requireTLS: true },
        tls: { rejectUnauthorized: false },
      });
      await transport.sendMail({ from: "c@kunde.example", to, text: "x" });
      transport.close();
    }
    expect(taken).to.have.length(6);
  });

  /** Connects and returns the greeting, which may be a refusal. */
  async function connectAndListen(address: string): Promise<{ sender: Sender; greeting: string }> {
    const sender = await connect(address);
    return { sender, greeting: sender.greeting };
  }

  it("an SMTP client that sends too slowly is disconnected, but not a steady one or a relay", async () => {
    await start({ limits: { windowMs: 600, leastBytesPerSecond: 1_000 } });
    const [slow, steady, ours] = await Promise.all([ann, bob, relay].map((each) => connect(each)));
    for (const sender of [slow!, steady!, ours!]) expect(await offer(sender)).to.equal("354");
    await slow!.write("x".repeat(5_000));
    // The bytes of one tick suffice for a whole window, in case a busy machine skips ticks.
    const stop = [trickle(slow!, 1), trickle(steady!, 5_000), trickle(ours!, 1)];
    expect(await slow!.reply()).to.match(/^421 .*Too slow/);
    await slow!.closed;
    for (const each of stop) each();
    expect(await steady!.say("\r\n.")).to.match(/^250/);
    expect(await ours!.say("\r\n.")).to.match(/^250/);
    expect(refusals).to.deep.equal(["too_slow"]);
  });

  it("an SMTP client whose content takes too long is disconnected, but not a relay", async () => {
    await start({ limits: { dataMs: 200 } });
    const [endless, ours] = await Promise.all([ann, relay].map((each) => connect(each)));
    for (const sender of [ours!, endless!]) expect(await offer(sender)).to.equal("354");
    const stop = trickle(endless!, 200);
    expect(await endless!.reply()).to.match(/^421 .*Too slow/);
    stop();
    expect(await ours!.say("x\r\n.")).to.match(/^250/);
    expect(refusals).to.deep.equal(["too_slow"]);
  });

  function trickle(sender: Sender, bytes: number): () => void {
    const timer = setInterval(() => sender.socket.writable && sender.socket.write("x".repeat(bytes)), 20);
    sender.socket.once("close", () => clearInterval(timer));
    return () => clearInterval(timer);
  }

  it("an SMTP session ends after its time and a mail in progress, but not a relay's", async () => {
    await start({ limits: { sessionMs: 500 } });
    const ours = await connect(relay);
    // On a busy machine the session may end before the content: then it is tried again.
    let busy = await connect(ann);
    while ((await offer(busy).catch(() => "")) !== "354") busy = await connect(ann);
    const idle = await connect(bob);
    expect(await idle.reply()).to.match(/^421 .*lasted too long/);
    expect(await busy.say("x\r\n.")).to.match(/^250/);
    expect(await busy.reply()).to.match(/^421/);
    expect(await send(ours)).to.match(/^250/);
  });

  it("an address with too many bytes in progress gets 451, and others' mail is accepted", async () => {
    await start({ maxBytes: 200_000, limits: { bytesInFlight: 300_000 } });
    const large = Buffer.alloc(190_000, "x");
    const content = async (address: string) => {
      const sender = await connect(address);
      expect(await offer(sender)).to.equal("354");
      await sender.write(large);
      return sender;
    };
    const { accept } = reception;
    const [stored, underWay] = [barrier(), barrier()];
    reception.accept = async (transaction) => {
      underWay.open();
      await stored.opened;
      return accept(transaction);
    };
    const first = (await content(ann)).say("\r\n.");
    await underWay.opened;
    expect(await (await content(ann)).say("\r\n.")).to.match(/^451 4\.3\.0/);
    expect(refusals).to.deep.equal(["bytes_of_address"]);
    reception.accept = accept;
    expect(await (await content(bob)).say("\r\n.")).to.match(/^250/);
    const ours = await Promise.all([1, 2, 3].map(() => content(relay)));
    for (const sender of ours) expect(await sender.say("\r\n.")).to.match(/^250/);
    stored.open();
    expect(await first).to.match(/^250/);
    expect(await (await content(ann)).say("\r\n.")).to.match(/^250/);
  });

  it("an SMTP session that names ten unknown recipients is ended, but not a relay's", async () => {
    await start();
    const guess = async (sender: Sender, count: number) => {
      await sender.say("EHLO a");
      await sender.say("MAIL FROM:<>");
      for (let n = 0; n < count; n++)
        expect(await sender.say(`RCPT TO:<no${n}@agents.example>`)).to.match(/^550 5\.1\.1/);
    };
    const stranger = await connect(ann);
    await guess(stranger, 10);
    expect(await stranger.reply()).to.match(/^421 .*unknown recipients/);
    await stranger.closed;
    expect(refusals).to.deep.equal(["unknown_recipients"]);
    const ours = await connect(relay);
    await guess(ours, 11);
    expect(await ours.say(`RCPT TO:<${to}>`)).to.match(/^250/);
  });

  it("an SMTP client gets 451 if a recipient lookup times out, and 250 once it works", async () => {
    const { resolve } = reception;
    reception.resolve = () => new Promise(() => {});
    await start({ resolveMs: 30 });
    const sender = await connect(ann);
    expect(await offer(sender)).to.match(/^451 4\.3\.0/);
    reception.resolve = (address, options) => (options?.anew ? new Promise(() => {}) : resolve(address));
    await sender.say("RSET");
    expect(await send(sender)).to.match(/^451 4\.3\.0/);
    reception.resolve = resolve;
    expect(await send(sender)).to.match(/^250/);
  });

  it("each identity is looked up once more after the final dot, however many of its addresses were named", async () => {
    await start();
    const tags = [1, 2, 3, 4].map((n) => `agent+${n}@agents.example`);
    expect(await sendFrom(ann, { recipients: [...tags, "other@agents.example"] })).to.match(/^250/);
    const again = lookUps.filter(({ anew }) => anew).map(({ address }) => address);
    expect(again).to.have.members(["agent+1@agents.example", "other@agents.example"]);
    expect(taken[0]?.recipients.map(({ address }) => address)).to.deep.equal([...tags, "other@agents.example"]);
  });

  it("no mail is accepted while the disk is full", async () => {
    let full = true;
    await start({ isDiskFull: () => full });
    const sender = await connect(relay);
    expect(await send(sender)).to.match(/^452 .*storage/);
    expect(refusals).to.deep.equal(["disk"]);
    full = false;
    expect(await offer(sender)).to.equal("354");
    full = true;
    expect(await sender.say("x\r\n.")).to.match(/^452 .*storage/);
    full = false;
    expect(await send(sender)).to.match(/^250/);
    expect(taken).to.have.length(1);
  });

  it("mail for a workspace without room gets 451, also from a relay, and mail for others is accepted", async () => {
    const { resolve } = reception;
    reception.resolve = async (address, options) => {
      const found = await resolve(address, options);
      return found?.kind === "identity" && address.startsWith("other") ? { ...found, workspaceId: "other" } : found;
    };
    let isFull = true;
    await start({ isFull: (workspaceId) => isFull && workspaceId === "w" });
    for (const from of [ann, relay])
      expect(await sendFrom(from)).to.match(/^451 4\.3\.0 This recipient has no room for more mail at the moment/);
    expect(refusals).to.deep.equal(["unanswered", "unanswered"]);
    const sender = await connect(ann);
    for (const line of ["EHLO mx.example", "MAIL FROM:<c@kunde.example>"]) await sender.say(line);
    expect(await sender.say(`RCPT TO:<${to}>`)).to.match(/^451/);
    expect(await sender.say("RCPT TO:<other@agents.example>")).to.match(/^250/);
    await sender.say("DATA");
    expect(await sender.say("x\r\n.")).to.match(/^250/);
    expect(taken.map(({ recipients }) => recipients.map(({ address }) => address))).to.deep.equal([
      ["other@agents.example"],
    ]);
    isFull = false;
    expect(await sendFrom(ann)).to.match(/^250/);
  });

  describe("SMTP_IN_BUDGET", () => {
    it("an address that used up its SMTP budget for an identity gets 452; others and other identities do not", async () => {
      await start({ budget: { messages: 3 } });
      const sender = await connect(ann);
      expect(await send(sender, { recipients: ["agent+1@agents.example", "agent+2@agents.example"] })).to.match(/^250/);
      await sender.say("MAIL FROM:<>");
      expect(await sender.say("RCPT TO:<agent+3@agents.example>")).to.match(/^250/);
      expect(await sender.say("RCPT TO:<agent+4@agents.example>")).to.match(/^452 .*too much/);
      await sender.say("DATA");
      expect(await sender.say("x\r\n.")).to.match(/^250/);
      expect(await send(sender)).to.match(/^452/);
      expect(await sendFrom(ann, { recipients: ["other@agents.example"] })).to.match(/^250/);
      expect(await sendFrom(bob)).to.match(/^250/);
      for (let n = 0; n < 5; n++) expect(await sendFrom(relay)).to.match(/^250/);
      expect(refusals).to.deep.equal(["budget", "budget"]);
    });

    it("the SMTP budget counts bytes, and not those of mail that could not be stored", async () => {
      await start({ budget: { bytes: 1_000 } });
      const content = "x".repeat(600);
      const { accept } = reception;
      reception.accept = () => Promise.reject(new Error("away"));
      for (let n = 0; n < 3; n++) expect(await sendFrom(ann, { content })).to.match(/^451/);
      reception.accept = accept;
      expect(await sendFrom(ann, { content })).to.match(/^250/);
      expect(await sendFrom(ann, { content })).to.match(/^452/);
      expect(await sendFrom(ann, { content: "small" })).to.match(/^250/);
      expect(await sendFrom(bob, { content: "x".repeat(5_000) })).to.match(/^250/);
    });

    it("the SMTP budget is that of the client whom a relay names by XCLIENT", async () => {
      await start({ budget: { messages: 1 } });
      const from = async (client: string) => {
        const sender = await connect(relay);
        await sender.say("EHLO relay.example");
        expect(await sender.say(`XCLIENT ADDR=${client}`)).to.match(/^220/);
        return send(sender);
      };
      expect(await from("203.0.113.7")).to.match(/^250/);
      expect(await from("203.0.113.7")).to.match(/^452/);
      expect(await from("IPV6:2001:db8:1:2::3")).to.match(/^250/);
      expect(await from("IPV6:2001:db8:1:2:ffff::4")).to.match(/^452/);
      expect(await from("203.0.113.8")).to.match(/^250/);
    });
  });

  describe("the address of an SMTP client", () => {
    const remotes = () => taken.map(({ remote }) => remote);

    it("a client's address is the one that a relay names by XCLIENT, and unknown if it names none", async () => {
      await start();
      const sender = await connect(relay);
      expect(await sender.say("EHLO relay.example")).to.match(/XCLIENT/);
      expect(await sender.say("XCLIENT ADDR=203.0.113.7 HELO=mx.kunde.example")).to.match(/^220/);
      expect(await send(sender)).to.match(/^250/);
      expect(await sendFrom(relay)).to.match(/^250/);
      expect(await sendFrom(ann)).to.match(/^250/);
      expect(remotes()).to.deep.equal([
        { ip: "203.0.113.7", helo: "mx.kunde.example" },
        { ip: relay, helo: "mx.example", relay: true },
        { ip: ann, helo: "mx.example" },
      ]);
    });

    it("a stranger cannot name another client's address by XCLIENT or the PROXY protocol", async () => {
      await start({ proxied: true });
      const stranger = await connect(ann);
      expect(await stranger.say("EHLO a")).to.not.match(/XCLIENT/);
      expect(await stranger.say("XCLIENT ADDR=203.0.113.7")).to.match(/^5/);
      expect(await send(stranger)).to.match(/^250/);
      const early = await connect(ann, "PROXY TCP4 203.0.113.7 192.0.2.1 51000 25\r\n");
      expect(early.greeting).to.match(/^421/);
      const late = await connect(ann);
      expect(await late.say("PROXY TCP4 203.0.113.7 192.0.2.1 51000 25")).to.match(/^500/);
      expect(remotes()).to.deep.equal([{ ip: ann, helo: "mx.example" }]);
    });

    it("a client behind a proxy has the address of the PROXY line, separate limits, and no XCLIENT", async () => {
      await start({ proxied: true, limits: { connections: 1 } });
      const line = "PROXY TCP6 2001:db8::7 2001:db8::1 51000 25\r\n";
      const client = await connect(relay, line);
      expect(await client.say("EHLO a")).to.not.match(/XCLIENT/);
      expect((await connect(relay, "PROXY TCP6 2001:db8::8 2001:db8::1 5 25\r\n")).greeting).to.match(/^421/);
      expect((await connect(relay, "PROXY TCP4 ::ffff:192.0.2.9 192.0.2.1 5 25\r\n")).greeting).to.match(/^220/);
      expect(await send(client)).to.match(/^250/);
      // A health check, and a client whom the proxy sees at a relay's address.
      for (const ours of ["PROXY UNKNOWN\r\n", `PROXY TCP4 ${relay} 192.0.2.1 5 25\r\n`]) {
        const sender = await connect(relay, ours);
        expect(await sender.say("XCLIENT ADDR=203.0.113.7")).to.match(/^5/);
        expect(await send(sender)).to.match(/^250/);
      }
      const byRelay = { ip: relay, helo: "mx.example", relay: true };
      expect(remotes()).to.deep.equal([{ ip: "2001:db8::7", helo: "mx.example" }, byRelay, byRelay]);
    });

    it("a PROXY line may arrive in pieces, and anything else ends the connection", async () => {
      await start({ proxied: true });
      for (const wrong of ["EHLO a\r\n", "PROXY TCP4 a.example 1.2.3.4 1 2\r\n", "x".repeat(200)])
        expect(await connect(relay, wrong).catch((error) => error.message)).to.equal("the SMTP connection was closed");
      const socket = createConnection({ port: receiver.port, host: "127.0.0.1", localAddress: relay });
      for (const piece of ["PROXY TCP4 203.0.", "113.7 192.0.2.1 5", " 25\r", "\n"]) {
        socket.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const [greeting] = await once(socket, "data");
      expect(greeting.toString()).to.match(/^220/);
      socket.destroy();
    });
  });

  it("a relay that sends all mail from one address meets no limit for strangers", async () => {
    await start({
      limits: { connections: 1, sessionMs: 20, dataMs: 20, windowMs: 10, bytesInFlight: 1, unknownRecipients: 1 },
      budget: { messages: 1, bytes: 1 },
    });
    const connections = await connectMany(sized(5, 50), relay);
    const mails = sized(10, 100);
    const answers = await Promise.all(
      connections.map(async (sender) => {
        const all: string[] = [];
        for (let n = 0; n < mails; n++) all.push(await send(sender));
        return all;
      }),
    );
    expect(answers.flat().filter((answer) => !answer.startsWith("250"))).to.deep.equal([]);
    expect(taken).to.have.length(connections.length * mails);
    expect(refusals).to.deep.equal([]);
  });
});
