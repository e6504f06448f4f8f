import type { AddressInfo, Server } from "node:net";
import { StartError } from "#src/platform/startError.ts";

/** Connections that wait to be accepted: a burst of a stranger's makes nobody else's wait for seconds. The system's own limit holds beside it. */
const backlog = 4_096;

/** Waits until the server listens; gives its port. Throws StartError that says what to do if it cannot. */
export async function listening(server: Server, { port, host }: { port: number; host: string }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("listening", resolve);
    server.once("error", (error: NodeJS.ErrnoException) => reject(new StartError(cannotListen(error, host, port))));
    server.listen({ port, host, backlog });
  });
  return (server.address() as AddressInfo).port;
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): string {
  const where = `The mail receiver cannot listen on ${host}:${port}`;
  if (error.code === "EADDRINUSE")
    return `${where}: the port is in use. Stop the program that uses it, or set SMTP_IN_PORT to another port.`;
  if (error.code === "EACCES")
    return `${where}: this user may not use that port. Set SMTP_IN_PORT to a port above 1023.`;
  return `${where}: ${error.message}.`;
}
