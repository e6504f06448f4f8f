import { once } from "node:events";
import { connect } from "node:net";

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
  const waiting: { resolve(reply: string): void; reject(error: Error): void }[] = [];
  let lines = "";

  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    lines += text;
    for (let answer = answerIn(lines); answer !== undefined; answer = answerIn(lines)) {
      lines = lines.slice(answer.length);
      waiting.shift()?.resolve(answer);
    }
  });
  const fail = (error: Error): void => {
    for (const { reject } of waiting.splice(0)) reject(error);
  };
  socket.on("error", fail);
  socket.on("close", () => fail(closed()));

  async function expect(code: number): Promise<void> {
    if (socket.destroyed) throw closed();
    const reply = await new Promise<string>((resolve, reject) => waiting.push({ resolve, reject }));
    if (!reply.startsWith(String(code))) throw new Error(`SMTP: ${reply.trim()} in place of ${code}`);
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

const closed = (): Error => new Error("the SMTP connection was closed");

/** The first whole answer, if one is there: its last line has a space behind the number. */
const answerIn = (lines: string): string | undefined => /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(lines)?.[0];

/** Lines end in CR LF, those that begin with a dot get another, and a dot alone ends it all. */
function asContent(raw: Buffer): string {
  const lines = raw.toString("latin1").replace(/\r?\n/g, "\r\n").replace(/^\./gm, "..");
  return `${lines}${lines.endsWith("\r\n") ? "" : "\r\n"}.\r\n`;
}
