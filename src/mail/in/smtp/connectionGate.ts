import type { Socket } from "node:net";
import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import { createTally } from "#src/platform/tally.ts";
import { canonicalAddress, type Networks, senderKey } from "./addresses.ts";
import { readProxyHeader } from "./proxyHeader.ts";

/** The peer of a connection. */
export type ConnectionPeer = {
  /** Address of the connection, or the one named by the proxy in front of it. */
  address: string;
  /** Key under which the peer is counted (senderKey); undefined for our own relay, which is exempt from limits per address. */
  key: string | undefined;
  /** Our own relay, connected directly: it may name its clients. */
  mayNameClients: boolean;
};

export type ConnectionGateOptions = {
  relays: Networks;
  /** Relays first name the client by the PROXY protocol. */
  proxied: boolean;
  /** Maximum number of concurrent connections per address. */
  perAddress: number;
  /** Maximum number of concurrent connections of unauthenticated clients, and separately of relays. */
  inAll: number;
  onRefused(reason: MailRefusal): void;
  /** Called if a client that is not a relay connects directly although senders are named by a proxy. */
  onPastProxy(address: string): void;
  /** Admits the connection. `leave` must be called once when it ends. */
  admit(socket: Socket, visitor: ConnectionPeer, leave: () => void): void;
};

export type ConnectionGate = {
  knock(socket: Socket): void;
  /** Closes connections whose proxy has not named the client yet. */
  close(): void;
};

/** Milliseconds that a proxy may take to send its header. */
const proxyPatienceMs = 10_000;

/** Decides about new connections before reading anything from them: rejecting one costs a single line. */
export function createConnectionGate(options: ConnectionGateOptions): ConnectionGate {
  const { relays, proxied, perAddress, inAll, onRefused } = options;
  const inside = createTally();
  const counts = { strangers: 0, relays: 0 };
  const unnamed = new Set<Socket>();

  function refusalOf(kind: keyof typeof counts, key: string | undefined): MailRefusal | undefined {
    if (key !== undefined && inside.of(key) >= perAddress) return "connections_of_address";
    return counts[kind] >= inAll ? "connections" : undefined;
  }

  function enter(socket: Socket, address: string, mayNameClients: boolean): void {
    if (socket.destroyed) return;
    const isRelay = relays.has(address);
    const kind = isRelay ? "relays" : "strangers";
    const key = isRelay ? undefined : senderKey(address);
    const refusal = refusalOf(kind, key);
    if (refusal !== undefined) {
      onRefused(refusal);
      turnAway(socket, refusal === "connections" ? "Too many connections" : "Too many connections from your address");
      return;
    }
    count(kind, key, 1);
    const visitor = { address, key, mayNameClients: isRelay && mayNameClients };
    options.admit(socket, visitor, () => count(kind, key, -1));
  }

  function count(kind: keyof typeof counts, key: string | undefined, more: 1 | -1): void {
    counts[kind] += more;
    if (key !== undefined) inside.add(key, more);
  }

  return {
    knock(socket) {
      socket.on("error", () => {});
      const address = canonicalAddress(socket.remoteAddress ?? "");
      if (!proxied || !relays.has(address)) {
        if (proxied) options.onPastProxy(address);
        enter(socket, address, true);
        return;
      }
      unnamed.add(socket);
      readProxyHeader(socket, proxyPatienceMs)
        .finally(() => unnamed.delete(socket))
        .then(
          // A client behind the proxy may speak on this connection: only the proxy's own header is trusted, not what may follow.
          (client) => enter(socket, client === undefined ? address : canonicalAddress(client), false),
          () => socket.destroy(),
        );
    },
    close() {
      for (const socket of unnamed) socket.destroy();
    },
  };
}

function turnAway(socket: Socket, why: string): void {
  socket.resume();
  socket.write(`421 4.7.0 ${why}, please try again later\r\n`);
  socket.destroySoon();
}
