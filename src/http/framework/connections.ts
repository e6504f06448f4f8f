import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ipKeyGenerator } from "express-rate-limit";
import type { HttpRefusal } from "#src/metrics/metrics.ts";
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
 * The connections there are, and which have a request under way: when the service closes, the others are let go of at once. Node itself would wait
 * for one that was opened and never used, as browsers keep them.
 */
export function createConnections({ inAll, perAddress, isExempt, onRefused }: ConnectionLimits) {
  const open = new Set<Socket>();
  const ofAddress = new Map<string, number>();
  const busy = new Map<Socket, number>();
  let closing = false;

  function done(socket: Socket): void {
    busy.set(socket, busy.get(socket)! - 1);
    if (busy.get(socket) === 0) busy.delete(socket);
    if (closing && !busy.has(socket)) endSoon(socket);
  }

  function count(key: string, more: 1 | -1): void {
    const connections = (ofAddress.get(key) ?? 0) + more;
    if (connections === 0) ofAddress.delete(key);
    else ofAddress.set(key, connections);
  }

  return {
    /** Takes it in, or tells its client that there are too many; one that was told counts no more. */
    add(socket: Socket): void {
      const address = socket.remoteAddress ?? "";
      const key = isExempt(address) ? undefined : ipKeyGenerator(address, 64);
      const isTooMany = key !== undefined && (ofAddress.get(key) ?? 0) >= perAddress;
      if (isTooMany || open.size >= inAll) {
        onRefused?.(isTooMany ? "connections_of_address" : "connections", address);
        refuseCrowded(socket, isTooMany ? "too many connections from your address" : "too many connections");
        return;
      }
      open.add(socket);
      if (key !== undefined) count(key, 1);
      socket.once("close", () => {
        open.delete(socket);
        if (key !== undefined) count(key, -1);
      });
    },
    serve(socket: Socket, response: ServerResponse): void {
      if (closing) response.setHeader("Connection", "close");
      busy.set(socket, (busy.get(socket) ?? 0) + 1);
      response.once("close", () => done(socket));
    },
    close(): void {
      closing = true;
      for (const socket of open) if (!busy.has(socket)) socket.destroy();
    },
  };
}
