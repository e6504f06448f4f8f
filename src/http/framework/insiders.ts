import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether an address is this very machine's. */
export const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** What a proxy adds that hands a request on. */
const addedOnTheWay =
  /^(x-forwarded-.*|forwarded|x-real-ip|via|(x|true)-client-ip|x-cluster-client-ip|cf-connecting-ip)$/;

/** Whether a request comes from this very machine: its socket does, it asks for this machine by name, and nobody has handed it on. */
export function isFromLoopback({ socket, headers }: IncomingMessage): boolean {
  const handedOn = Object.keys(headers).some((name) => addedOnTheWay.test(name));
  return !handedOn && isLoopback(socket.remoteAddress ?? "") && isLoopbackHost(headers.host ?? "");
}

/** Whether `Host` (a name or an address, with a port or without) names this very machine. */
export function isLoopbackHost(host: string): boolean {
  const name = hostNameOf(host);
  return name === "localhost" || isLoopback(name ?? "");
}

/**
 * The name or address in `Host`, or in what is configured, without its port, the brackets of an IPv6 address and the dot that may end a name;
 * in lower case. Undefined if it is none.
 */
export function hostNameOf(host: string): string | undefined {
  if (isIP(host) === 6) return host.toLowerCase();
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  if (address !== undefined) return isIP(address) === 6 ? address.toLowerCase() : undefined;
  return name?.replace(/\.$/, "").toLowerCase() || undefined;
}

/** Whether the caller may know what a part says about its trouble: from this machine, or with the operator's token as Bearer. */
export const mayKnowDetails = (request: IncomingMessage, token: string | undefined): boolean =>
  isFromLoopback(request) || (token !== undefined && isToken(bearerOf(request), token));

/** What a request shows as Bearer. */
export const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];

/** Whether what was given is the token; how long the look takes tells nothing of it. */
export const isToken = (given: string | undefined, token: string): boolean =>
  given !== undefined && timingSafeEqual(hash(given), hash(token));

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
