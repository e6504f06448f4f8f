import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { StartError } from "#src/platform/startError.ts";
import { isEnded, recordOwedAnswer, refuseUnreadable } from "./connectionRefusals.ts";
import { type ConnectionLimits, createConnections, idleMs } from "./connections.ts";
import { createEventLoopTurns } from "./eventLoopTurns.ts";

export type HttpServer = {
  /** Base URL, for example `http://127.0.0.1:8080`. */
  url: string;
  port: number;
  /** Stops accepting connections and waits at most `withinMs` (default 10,000) for requests in progress; then cuts them off. */
  close(withinMs?: number): Promise<void>;
};

export type ListenOptions = {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Milliseconds in which the headers of a request must arrive (default 10,000). */
  headersTimeoutMs?: number;
  /** Milliseconds in which a whole request must arrive (default 60,000): slower bodies are cut off. */
  requestTimeoutMs?: number;
  /** Limits on connections (default: none). */
  connections?: ConnectionLimits;
};

/** Connections above the limit that are answered with 503 at one moment; any more are closed without an answer. */
const toldAtOnce = 100;
/**
 * Maximum number of connections that wait to be accepted. A client that is turned away retries after 1, 3, 7 or 15 seconds. The operating
 * system's limit applies too.
 */
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
  const inTurn = createEventLoopTurns();
  const server = createServer(
    {
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleMs.usual,
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs, requestTimeoutMs),
    },
    (request, response) => {
      // The connection was ended by a refusal, or owes too many answers.
      if (isOver(request.socket) || !recordOwedAnswer(request.socket, response)) return;
      connections.serve(request.socket, response);
      inTurn(() => {
        // The client may have disconnected or been refused meanwhile.
        if (!isOver(request.socket)) handler(request, response);
      });
    },
  );
  // Without this, closing the server would also cut off answers that a slow client is still reading.
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
