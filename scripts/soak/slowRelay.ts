import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";

/** A relay whose every reply takes so many milliseconds: a mail on an open connection takes four of them. */
export async function startSlowRelay(replyMs: number) {
  const relay = await startSmtpRelay();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const behind = connect(relay.port, "127.0.0.1");
    for (const [from, to] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    socket.on("data", (chunk) => behind.write(chunk));
    behind.on("data", (chunk) => setTimeout(() => socket.writable && socket.write(chunk), replyMs));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get mails() {
      return relay.mails;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await relay.close();
    },
  };
}
