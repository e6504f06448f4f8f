import type { AddressInfo, Server } from "node:net";
import { StartError } from "#src/platform/startError.ts";

/**
 * Connections waiting to be accepted: one client's burst delays other clients by less than a second. The system's own limit applies too.
 */
const backlog = 4_096;

/** Waits until the server listens and returns its port. Throws a StartError that says what to do if it cannot. */
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
