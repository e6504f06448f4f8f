import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ipKeyGenerator } from "express-rate-limit";
import type { HttpRefusal } from "#src/platform/metrics/metrics.ts";
import { createTally } from "#src/platform/tally.ts";
import { endSoon, refuseCrowded } from "./connectionRefusals.ts";

export type ConnectionLimits = {
  /** Maximum number of connections open at once. */
  inAll: number;
  /** Maximum number of connections of one address: an IPv4 address, or the /64 network of an IPv6 site. */
  perAddress: number;
  /** True if the limit per address does not apply to the address, because a proxy there serves many clients. */
  isExempt(address: string): boolean;
  onRefused?(reason: HttpRefusal, address: string): void;
};

/**
 * Milliseconds that an idle connection waits for its next request. Proxies reuse connections for all their clients and usually keep them
 * for one to ten minutes: if the service closes one at the moment the proxy sends a request on it, the proxy answers 502.
 */
export const idleMs = { usual: 12_000, ofProxies: 620_000 };
/**
 * Milliseconds by which the time in the Keep-Alive header is shorter than `idleMs`, so that a client that obeys the header never sends a
 * request on a closing connection.
 */
const announcedLessMs = 2_000;

/**
 * Tracks the open connections and which of them have a request in progress. When the service closes, idle connections are destroyed at
 * once: Node itself would wait for one that was opened but never used, as browsers keep them.
 */
export function createConnections({ inAll, perAddress, isExempt, onRefused }: ConnectionLimits) {
  const open = new Set<Socket>();
  const exempt = new WeakSet<Socket>();
  const ofAddress = createTally();
  const underWay = createTally<Socket>();
  let closing = false;

  function done(socket: Socket, request: IncomingMessage): void {
    underWay.add(socket, -1);
    if (closing && isIdle(socket)) endSoon(socket);
    // Node sets no timeout on a connection whose request body ends after its answer.
    if (request.complete) waitForNext(socket);
    else request.once("end", () => waitForNext(socket));
  }

  function waitForNext(socket: Socket): void {
    if (isIdle(socket) && !socket.destroyed) socket.setTimeout(idleMsOf(socket));
  }

  const isIdle = (socket: Socket): boolean => underWay.of(socket) === 0;

  const idleMsOf = (socket: Socket): number => (exempt.has(socket) ? idleMs.ofProxies : idleMs.usual);

  return {
    /** Accepts the connection, or answers 503 if there are too many. A refused connection is not counted. */
    add(socket: Socket): void {
      const address = socket.remoteAddress ?? "";
      const key = isExempt(address) ? undefined : ipKeyGenerator(address, 64);
      const isTooMany = key !== undefined && ofAddress.of(key) >= perAddress;
      if (isTooMany || open.size >= inAll) {
        onRefused?.(isTooMany ? "connections_of_address" : "connections", address);
        refuseCrowded(socket, isTooMany ? "too many connections from your address" : "too many connections");
        return;
      }
      open.add(socket);
      if (key === undefined) exempt.add(socket);
      else ofAddress.add(key, 1);
      socket.once("close", () => {
        open.delete(socket);
        if (key !== undefined) ofAddress.add(key, -1);
      });
    },
    serve(socket: Socket, response: ServerResponse): void {
      // A request in progress has no idle timeout.
      socket.setTimeout(0);
      if (closing) response.setHeader("Connection", "close");
      else if (response.shouldKeepAlive)
        response.setHeader("Keep-Alive", `timeout=${(idleMsOf(socket) - announcedLessMs) / 1000}`);
      underWay.add(socket, 1);
      response.once("close", () => done(socket, response.req));
    },
    close(): void {
      closing = true;
      for (const socket of open) if (isIdle(socket)) socket.destroy();
    },
  };
}
