import type { Socket } from "node:net";

/**
 * Returns the server's SMTP replies in order, each complete: its last line has a space after the code. Each call returns the next reply,
 * and rejects if the connection ends before it.
 */
export function smtpReplies(socket: Socket): () => Promise<string> {
  const asked: { resolve(reply: string): void; reject(error: Error): void }[] = [];
  const early: string[] = [];
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
    for (let reply = wholeReply(received); reply !== undefined; reply = wholeReply(received)) {
      received = received.slice(reply.length);
      const next = asked.shift();
      if (next) next.resolve(reply.trim());
      else early.push(reply.trim());
    }
  });
  // An error is followed by close, which is handled below.
  socket.on("error", () => {});
  socket.on("close", () => {
    for (const { reject } of asked.splice(0)) reject(closed());
  });
  return () =>
    new Promise((resolve, reject) => {
      const reply = early.shift();
      if (reply !== undefined) resolve(reply);
      else if (socket.destroyed) reject(closed());
      else asked.push({ resolve, reject });
    });
}

const wholeReply = (text: string): string | undefined => /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text)?.[0];
const closed = (): Error => new Error("the SMTP connection was closed");
