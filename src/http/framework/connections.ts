import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ipKeyGenerator } from "express-rate-limit";
import type { HttpRefusal } from "#src/platform/metrics/metrics.ts";
import { createTally } from "#src/platform/tally.ts";
import { endSoon, refuseCrowded } from "./refusal.ts";

export type ConnectionLimits = {
  /** Connections at once. */
  inAll: number;
  /** Of them of one address: an IPv4 address, or the /64 that a site of IPv6 has to itself. */
  perAddress: number;
  /** Whether no limit of one address is meant for it: a proxy in front, behind which everybody is. */
  isExempt(address: string): boolean;
  onRefused?(reason: HttpRefusal, address: string): void;
};

/**
 * Milliseconds that a connection may wait for its next request. A proxy keeps its connections for all its clients, and the usual ones keep them for
 * one to ten minutes: one that is closed just when it sends a request down it, it answers with 502.
 */
export const idleMs = { usual: 12_000, ofProxies: 620_000 };
/** So much less is announced, so that who goes by it never sends its next request into the end of the connection. */
const announcedLessMs = 2_000;

/**
 * The connections there are, and which have a request under way: when the service closes, the others are let go of at once. Node itself would wait
 * for one that was opened and never used, as browsers keep them.
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
    // Node lets a connection wait for ever whose body ends after its answer.
    if (request.complete) waitForNext(socket);
    else request.once("end", () => waitForNext(socket));
  }

  function waitForNext(socket: Socket): void {
    if (isIdle(socket) && !socket.destroyed) socket.setTimeout(idleMsOf(socket));
  }

  const isIdle = (socket: Socket): boolean => underWay.of(socket) === 0;

  const idleMsOf = (socket: Socket): number => (exempt.has(socket) ? idleMs.ofProxies : idleMs.usual);

  return {
    /** Takes it in, or tells its client that there are too many; one that was told counts no more. */
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
      // It waits no longer.
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
