import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { smtpReplies } from "./smtpReplies.ts";

/** An SMTP client that sends exactly the given bytes. */
export type Sender = {
  /** The receiver's greeting. */
  greeting: string;
  /** Returns the next whole reply, with all its lines. Rejects if the connection ends before. */
  reply(): Promise<string>;
  write(bytes: string | Buffer): Promise<void>;
  /** Writes a line and waits for its reply. */
  say(line: string): Promise<string>;
  /** Cuts the connection, with a FIN or a reset. */
  hangUp(how: "end" | "destroy"): void;
  /** Resolves when the other side has closed the connection. */
  closed: Promise<unknown>;
  socket: Socket;
};

/** Connects and reads the greeting. `first`: written before that. `localAddress`: any address of 127.0.0.0/8. */
export async function startSender(port: number, first = "", localAddress = "127.0.0.1"): Promise<Sender> {
  const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
  if (first !== "") socket.write(first);
  const sender = speakingOn(socket);
  return { ...sender, greeting: await sender.reply() };
}

/**
 * Starts TLS on a sender's connection and goes on in it; `after` is written behind the command in the same piece, unencrypted. Rejects where the
 * receiver refuses it or the handshake fails.
 */
export async function startTls(
  sender: Sender,
  { after = "", ...options }: ConnectionOptions & { after?: string } = {},
): Promise<Omit<Sender, "greeting"> & { tls: TLSSocket }> {
  const answer = sender.reply();
  await sender.write(`STARTTLS\r\n${after}`);
  if (!(await answer).startsWith("220")) throw new Error(await answer);
  sender.socket.removeAllListeners("data");
  const tls = connectTls({ socket: sender.socket, rejectUnauthorized: false, ...options });
  await once(tls, "secureConnect");
  return { ...speakingOn(tls), tls };
}

function speakingOn(socket: Socket): Omit<Sender, "greeting"> {
  // A reset emits close too.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const reply = smtpReplies(socket);
  const write = async (bytes: string | Buffer) => {
    if (!socket.write(bytes)) await Promise.race([once(socket, "drain"), closed]);
  };
  return {
    reply,
    write,
    async say(line) {
      await write(`${line}\r\n`);
      return reply();
    },
    hangUp: (how) => (how === "end" ? socket.end() : socket.resetAndDestroy()),
    closed,
    socket,
  };
}

/** Speaks up to DATA and returns the sender. */
export async function startMail(
  port: number,
  to: string[] = ["agent@agents.example"],
  from = "c@kunde.example",
): Promise<Sender> {
  const sender = await startSender(port);
  await sender.say("EHLO mail.kunde.example");
  await sender.say(`MAIL FROM:<${from}>`);
  for (const address of to) await sender.say(`RCPT TO:<${address}>`);
  await sender.say("DATA");
  return sender;
}

/** An SMTP connection that sends whole mails one after the other. */
export type Mailer = {
  /** Resolves with the reply to the final dot, or with the first refusal before it; rejects if the connection ends before that. */
  send(raw: Buffer, to: string | readonly string[], from?: string): Promise<string>;
  close(): void;
};

export async function openMailer(port: number, { localAddress }: { localAddress?: string } = {}): Promise<Mailer> {
  const sender = await startSender(port, "", localAddress);
  await sender.say("EHLO customer.example");
  return {
    async send(raw, to, from = "sender@customer.example") {
      for (const line of [`MAIL FROM:<${from}>`, ...[to].flat().map((each) => `RCPT TO:<${each}>`), "DATA"]) {
        const answer = await sender.say(line);
        if (!/^[23]/.test(answer)) return answer;
      }
      await sender.write(
        Buffer.concat([stuffed(raw), Buffer.from(raw.subarray(-2).equals(crlf) ? ".\r\n" : "\r\n.\r\n")]),
      );
      return sender.reply();
    },
    close: () => sender.hangUp("destroy"),
  };
}

const crlf = Buffer.from("\r\n");

/** Doubles the dot at the beginning of a line, as SMTP requires. */
const stuffed = (raw: Buffer): Buffer => Buffer.from(raw.toString("latin1").replace(/^\./gm, ".."), "latin1");
