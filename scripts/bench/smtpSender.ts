import { once } from "node:events";
import { connect } from "node:net";
import { smtpReplies } from "../support/smtpReplies.ts";

/** A connection that hands mails over, one after the other. */
export type SmtpSender = {
  /** Resolves when it was answered 250. Throws with the server's words. */
  send(raw: Buffer, envelope: { from: string; to: string }): Promise<void>;
  close(): void;
};

/**
 * As relays do: the envelope in one message, then the mail in another. A library takes as much CPU for a mail as half the service, and who measures
 * that runs beside it on the same machine.
 */
export async function openSmtpSender(port: number): Promise<SmtpSender> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const reply = smtpReplies(socket);

  async function expect(code: number): Promise<void> {
    const said = await reply();
    if (!said.startsWith(String(code))) throw new Error(`SMTP: ${said} in place of ${code}`);
  }

  await Promise.all([once(socket, "connect"), expect(220)]);
  socket.write("EHLO bench.example\r\n");
  await expect(250);
  return {
    async send(raw, { from, to }) {
      socket.write(`MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`);
      await Promise.all([expect(250), expect(250), expect(354)]);
      socket.write(asContent(raw), "latin1");
      await expect(250);
    },
    close: () => socket.end("QUIT\r\n"),
  };
}

/** Lines end in CR LF, those that begin with a dot get another, and a dot alone ends it all. */
function asContent(raw: Buffer): string {
  const lines = raw.toString("latin1").replace(/\r?\n/g, "\r\n").replace(/^\./gm, "..");
  return `${lines}${lines.endsWith("\r\n") ? "" : "\r\n"}.\r\n`;
}
