import type { Socket } from "node:net";
import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import { createTally } from "#src/platform/tally.ts";
import { canonicalAddress, type Networks, senderKey } from "./addresses.ts";
import { readProxyHeader } from "./proxyHeader.ts";

/** Who holds a connection. */
export type Visitor = {
  /** The address of the connection, or the one that the proxy in front of it named. */
  address: string;
  /** What it is counted under (senderKey); undefined for a relay of ours, which no limit of one address is meant for. */
  key: string | undefined;
  /** A relay of ours that connected by itself: it may say for whom it speaks. */
  mayNameClients: boolean;
};

export type DoorOptions = {
  relays: Networks;
  /** Relays name the client by the PROXY protocol first. */
  proxied: boolean;
  /** Connections at once of one address. */
  perAddress: number;
  /** Connections at once of all strangers, and as many again of relays. */
  inAll: number;
  onRefused(reason: MailRefusal): void;
  /** While senders are named by a proxy, somebody who is no relay came in past it. */
  onPastProxy(address: string): void;
  /** `leave` is to be called once, when the connection is over. */
  letIn(socket: Socket, visitor: Visitor, leave: () => void): void;
};

export type Door = {
  knock(socket: Socket): void;
  /** Lets those go whose proxy has not named them yet. */
  close(): void;
};

/** Milliseconds a proxy may take for the header it begins with. */
const proxyPatienceMs = 10_000;

/** Decides about new connections before anything is read from them: turning one away costs a line. */
export function createDoor(options: DoorOptions): Door {
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
    options.letIn(socket, visitor, () => count(kind, key, -1));
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
          // A client behind the proxy may speak here: only the proxy's own header is believed, not what may follow.
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
