import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { expect } from "chai";
import pino from "pino";
import type { MailTransaction, Reception } from "#src/mail/in/reception.ts";
import { createSmtpReceiver, type SmtpReceiver, type SmtpReceiverOptions } from "#src/mail/in/smtpReceiver.ts";
import { barrier } from "#test/http/framework/support.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { startSender } from "../smtpSender.ts";

const certificate = certificateOf("mx.agents.example");
const to = "agent@agents.example";
const proxyLine = "PROXY TCP4 203.0.113.7 192.0.2.1 51000 25\r\n";

/** Lines of a mail up to its DATA command, as a client that pipelines writes them. */
const envelope = `MAIL FROM:<c@kunde.example>\r\nRCPT TO:<${to}>\r\nDATA\r\n`;
const content = "Subject: x\r\n\r\nx\r\n.\r\n";

describe("a client that ends its sending direction", () => {
  let receiver: SmtpReceiver;
  let taken: MailTransaction[];
  let reception: Reception;

  beforeEach(() => {
    taken = [];
    reception = {
      resolve: async (address) =>
        address.startsWith("no") ? undefined : { kind: "identity", identityId: address, workspaceId: "w" },
      async accept(transaction) {
        // The client's end arrives meanwhile.
        await pause(20);
        taken.push(transaction);
      },
    };
  });
  afterEach(() => receiver.close());

  const start = async (options: Partial<SmtpReceiverOptions> = {}) => {
    receiver = await createSmtpReceiver({
      ...{ reception, port: 0, host: "127.0.0.1", logger: pino({ level: "silent" }), closeMs: 1_000, ...options },
      limits: { connections: 2, ...options.limits },
    });
  };

  /** A client that reads on after its own end. */
  const open = () => {
    const socket = connect({ port: receiver.port, host: "127.0.0.1", allowHalfOpen: true });
    return clientOn(socket);
  };

  function clientOn(socket: Socket) {
    let received = "";
    const closed = once(socket, "close");
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text;
    });
    socket.on("error", () => {});
    const client = {
      socket,
      /** Waits until a reply begins with the code; forgets everything before it. */
      async heard(code: number): Promise<void> {
        const reply = new RegExp(`^${code} .*\\r\\n`, "m");
        while (!reply.test(received)) {
          if (socket.closed) throw new Error(`closed before ${code}: ${received}`);
          await Promise.race([once(socket, "data"), closed]);
        }
        received = received.slice(reply.exec(received)!.index + reply.exec(received)![0].length);
      },
      async say(text: string, code: number): Promise<void> {
        socket.write(text);
        await client.heard(code);
      },
      /** Writes the last bytes and ends its direction. Resolves with all replies to come, when the receiver has closed the connection. */
      async end(text: string): Promise<string[]> {
        socket.end(text);
        await closed;
        return [...received.matchAll(/^(\d{3}) /gm)].map(([, code]) => code!);
      },
    };
    return client;
  }
  type Client = ReturnType<typeof clientOn>;

  async function secure({ socket, say }: Client, options: ConnectionOptions = {}): Promise<Client> {
    await say("STARTTLS\r\n", 220);
    socket.removeAllListeners("data");
    const tls = connectTls({ socket, rejectUnauthorized: false, allowHalfOpen: true, ...options } as ConnectionOptions);
    await once(tls, "secureConnect");
    return clientOn(tls);
  }

  /** The ways to a client that has been greeted. */
  const ways: [string, Partial<SmtpReceiverOptions>, () => Promise<Client>][] = [
    ["without TLS", {}, () => greeted("")],
    ["behind a PROXY header", { proxied: true, relays: ["127.0.0.0/8"] }, () => greeted(proxyLine)],
    ...(["TLSv1.2", "TLSv1.3"] as const).map((version): (typeof ways)[number] => [
      `over ${version}`,
      { tls: certificate },
      async () => secure(await greeted(""), { minVersion: version, maxVersion: version }),
    ]),
    [
      "over TLS behind a PROXY header",
      { tls: certificate, proxied: true, relays: ["127.0.0.0/8"] },
      async () => secure(await greeted(proxyLine)),
    ],
  ];
  async function greeted(first: string): Promise<Client> {
    const client = open();
    await client.say(first, 220);
    return client;
  }

  for (const [way, options, reach] of ways) {
    it(`after the final dot reads 250, with QUIT also 221, ${way}`, async () => {
      await start(options);
      for (const [last, codes] of [
        [content, ["250"]],
        [`${content}QUIT\r\n`, ["250", "221"]],
      ] as const) {
        const client = await reach();
        await client.say("EHLO mail.kunde.example\r\n", 250);
        await client.say(envelope, 354);
        expect(await client.end(last)).to.deep.equal(codes);
      }
      expect(taken.map(({ raw }) => raw.toString())).to.deep.equal(Array(2).fill("Subject: x\r\n\r\nx\r\n"));
    });

    it(`elsewhere than after the final dot is answered and disconnected, and nothing is stored, ${way}`, async () => {
      await start(options);
      const moments: [string, before: [string, number][], last: string, codes: string[]][] = [
        ["at once", [], "", []],
        ["after EHLO", [], "EHLO a\r\n", ["250"]],
        ["after QUIT", [], "QUIT\r\n", ["221"]],
        ["in a command", [["EHLO a\r\n", 250]], "MAIL FR", ["501"]],
        ["before DATA", [["EHLO a\r\n", 250]], `MAIL FROM:<c@kunde.example>\r\nRCPT TO:<${to}>\r\n`, ["250", "250"]],
        [
          "after an unknown recipient",
          [["EHLO a\r\n", 250]],
          "MAIL FROM:<>\r\nRCPT TO:<no@x.example>\r\nQUIT\r\n",
          ["250", "550", "221"],
        ],
        ["after DATA", [["EHLO a\r\n", 250]], envelope, ["250", "250", "354"]],
        [
          "in the content",
          [
            ["EHLO a\r\n", 250],
            [envelope, 354],
          ],
          "Subject: x\r\n\r\nhalf",
          [],
        ],
        [
          "before the last line end",
          [
            ["EHLO a\r\n", 250],
            [envelope, 354],
          ],
          content.slice(0, -2),
          [],
        ],
      ];
      for (const [moment, before, last, codes] of moments) {
        const client = await reach();
        for (const [text, code] of before) await client.say(text, code);
        expect(await client.end(last), moment).to.deep.equal(codes);
      }
      expect(taken).to.deep.equal([]);
    });
  }

  it("with a whole session in one piece, as netcat sends it, reads every reply", async () => {
    await start();
    const client = await greeted("");
    const two = `EHLO a\r\n${envelope}${content}${envelope}${content}QUIT\r\n`;
    const each = ["250", "250", "354", "250"];
    expect(await client.end(two)).to.deep.equal(["250", ...each, ...each, "221"]);
    expect(taken).to.have.length(2);
  });

  it("while its mail is being stored reads 250 afterwards, or why the mail was not stored", async () => {
    await start();
    for (const [outcome, code] of [
      [async () => {}, "250"],
      [() => Promise.reject(new Error("the database is away")), "451"],
    ] as const) {
      const storing = barrier();
      const stored = barrier();
      reception.accept = () => {
        storing.open();
        return stored.opened.then(outcome);
      };
      const client = await greeted("");
      await client.say("EHLO a\r\n", 250);
      await client.say(envelope, 354);
      const replies = client.end(`${content}QUIT\r\n`);
      await storing.opened;
      await pause(50);
      stored.open();
      expect(await replies).to.deep.equal([code, "221"]);
    }
  });

  it("and closes the other one too, or resets the connection, does no harm", async () => {
    await start();
    for (const leave of ["destroy", "resetAndDestroy"] as const) {
      const stored = barrier();
      const storing = barrier();
      reception.accept = () => {
        storing.open();
        return stored.opened;
      };
      const client = await greeted("");
      await client.say("EHLO a\r\n", 250);
      await client.say(envelope, 354);
      client.socket.write(`${content}QUIT\r\n`);
      await storing.opened;
      client.socket[leave]();
      stored.open();
    }
    await admitted();
  });

  it("is disconnected in a bounded time when it reads no replies, or began TLS", async () => {
    await start({ tls: certificate, idleMs: 1_500 });
    const deaf = await greeted("");
    deaf.socket.pause();
    deaf.socket.end("NOOP\r\n".repeat(100_000));
    const halfway = await greeted("");
    await halfway.say("STARTTLS\r\n", 220);
    expect(await halfway.end("")).to.deep.equal([]);
    await admitted();
    deaf.socket.destroy();
  });

  it("does not delay the end of the receiver", async () => {
    await start({ closeMs: 100 });
    reception.accept = () => new Promise(() => {});
    const client = await greeted("");
    await client.say("EHLO a\r\n", 250);
    await client.say(envelope, 354);
    const replies = client.end(content);
    await receiver.close();
    expect(await replies).to.not.include("250");
  });

  /** Waits until the address has room for all of its connections again: none of the earlier ones counts any more. */
  async function admitted(): Promise<void> {
    for (;;) {
      const senders = await Promise.all([startSender(receiver.port), startSender(receiver.port)]);
      for (const { hangUp } of senders) hangUp("destroy");
      if (senders.every(({ greeting }) => greeting.startsWith("220"))) return;
    }
  }
});
