import type { SMTPServerSession } from "smtp-server";
import type { RemoteClient } from "../reception.ts";
import { storableLine } from "../storable.ts";
import { canonicalAddress, type Networks, senderKey } from "./addresses.ts";

/** Finds the sending client of a session: its own connection, or the client named by the PROXY protocol or XCLIENT. */
export type Clients = {
  remoteOf(session: SMTPServerSession): RemoteClient;
  /** Key of the sender for the budget; undefined for our own relay. */
  senderOf(session: SMTPServerSession): string | undefined;
};

export function createClients(relays: Networks): Clients {
  function remoteOf({ remoteAddress, hostNameAppearsAs, xClient }: SMTPServerSession): RemoteClient {
    const ip = canonicalAddress(remoteAddress);
    const named = xClient?.get("HELO");
    const helo = storableLine(typeof named === "string" ? named : hostNameAppearsAs || "", 255);
    return { ip, helo, ...(relays.has(ip) && { relay: true }) };
  }

  return {
    remoteOf,
    senderOf(session) {
      const { ip, relay } = remoteOf(session);
      return relay ? undefined : senderKey(ip);
    },
  };
}
