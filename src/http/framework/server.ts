import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { StartError } from "#src/platform/startError.ts";
import { type ConnectionLimits, createConnections, idleMs } from "./connections.ts";
import { isEnded, owes, refuseUnreadable } from "./refusal.ts";
import { createTurns } from "./turns.ts";

export type HttpServer = {
  /** Where it listens, for example `http://127.0.0.1:8080`. */
  url: string;
  port: number;
  /** Takes no more connections and lets what is under way finish, for at most `withinMs` (default 10,000); then cuts it off. */
  close(withinMs?: number): Promise<void>;
};

export type ListenOptions = {
  host: string;
  /** 0: any free one. */
  port: number;
  /** Milliseconds within which the headers of a request have to arrive (default 10,000). */
  headersTimeoutMs?: number;
  /** Milliseconds within which a whole request has to arrive (default 60,000): slow bodies are cut off. */
  requestTimeoutMs?: number;
  /** How many connections there may be (default: any number). */
  connections?: ConnectionLimits;
};

/** Connections beyond the limit of all whose clients are told so at one moment; more are closed without a word. */
const toldAtOnce = 100;
/** Connections that wait to be accepted: what finds no place among them is not told, and tries again after 1, 3, 7 or 15 seconds. The system's own limit holds beside it. */
const backlog = 4_096;
const anyNumber: ConnectionLimits = {
  inAll: Number.POSITIVE_INFINITY,
  perAddress: Number.POSITIVE_INFINITY,
  isExempt: () => true,
};

/** Serves until closed. Throws StartError if it cannot listen. */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const { headersTimeoutMs = 10_000, requestTimeoutMs = 60_000, connections: limits = anyNumber } = options;
  const connections = createConnections(limits);
  const inTurn = createTurns();
  const server = createServer(
    {
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleMs.usual,
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs, requestTimeoutMs),
    },
    (request, response) => {
      // Its client was told that nothing more is read, or asked for too much.
      if (isOver(request.socket) || !owes(request.socket, response)) return;
      connections.serve(request.socket, response);
      inTurn(() => {
        // Its client may have gone, or been refused, since.
        if (!isOver(request.socket)) handler(request, response);
      });
    },
  );
  // When it closes, Node would also cut off answers that are on their way to a slow client.
  server.closeIdleConnections = () => {};
  if (Number.isFinite(limits.inAll)) server.maxConnections = limits.inAll + toldAtOnce;
  server.on("drop", (dropped) => limits.onRefused?.("connections", dropped?.remoteAddress ?? ""));
  server.on("connection", connections.add);
  server.on("clientError", refuseUnreadable);
  await bound(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    port,
    async close(withinMs = 10_000) {
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.close();
      const cut = setTimeout(() => server.closeAllConnections(), withinMs);
      await ended;
      clearTimeout(cut);
    },
  };
}

const isOver = (socket: Socket): boolean => socket.destroyed || isEnded(socket);

async function bound(server: Server, { host, port }: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new StartError(sentenceOn(error, host, port))));
    server.listen({ host, port, backlog }, resolve);
  });
}

function sentenceOn(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is in use by another program: stop that program, or set PORT to another port.`;
    case "EACCES":
      return `This user may not open port ${port} on ${host}: set PORT to a port above 1023.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine: set HOST to one of its addresses, for example 127.0.0.1.`;
    default:
      return `HTTP cannot listen on ${host}:${port}: ${error.message}.`;
  }
}
