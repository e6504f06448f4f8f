import { once } from "node:events";
import { connect } from "node:net";
import { smtpReplies } from "../support/smtpReplies.ts";

/** A connection that hands over mail byte for byte, one after the other. */
export type Sender = {
  /** Resolves with the reply to the final dot, "250 …" or not; rejects where the connection ends before it. */
  send(raw: Buffer, to: string | readonly string[], from?: string): Promise<string>;
  close(): void;
};

/** `localAddress`: where it comes from, an address of this machine. */
export async function openSender(port: number, { localAddress }: { localAddress?: string } = {}): Promise<Sender> {
  const socket = connect({ port, host: "127.0.0.1", ...(localAddress && { localAddress }) }).setNoDelay(true);
  const reply = smtpReplies(socket);
  const say = async (line: string) => {
    socket.write(`${line}\r\n`);
    return reply();
  };
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  await reply();
  await say("EHLO soak.example");
  return {
    async send(raw, to, from = "sender@soak.example") {
      for (const line of [`MAIL FROM:<${from}>`, ...[to].flat().map((each) => `RCPT TO:<${each}>`), "DATA"]) {
        const answer = await say(line);
        if (!/^[23]/.test(answer)) return answer;
      }
      socket.write(Buffer.concat([stuffed(raw), Buffer.from(raw.subarray(-2).equals(crlf) ? ".\r\n" : "\r\n.\r\n")]));
      return reply();
    },
    close: () => socket.destroy(),
  };
}

const crlf = Buffer.from("\r\n");

/** A line that begins with a dot gets one more on the wire. */
const stuffed = (raw: Buffer): Buffer => Buffer.from(raw.toString("latin1").replace(/^\./gm, ".."), "latin1");
