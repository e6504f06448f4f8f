import { once } from "node:events";
import { createServer } from "node:net";

/** Returns a port that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  await once(server.close(), "close");
  return port;
}
