import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** True if the address is a loopback address. */
export const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** Headers that proxies add to a forwarded request. */
const addedOnTheWay =
  /^(x-forwarded-.*|forwarded|x-real-ip|via|(x|true)-client-ip|x-cluster-client-ip|cf-connecting-ip)$/;

/** True if the request comes from this machine: its socket and Host are loopback, and no proxy forwarded it. */
export function isFromLoopback({ socket, headers }: IncomingMessage): boolean {
  const handedOn = Object.keys(headers).some((name) => addedOnTheWay.test(name));
  return !handedOn && isLoopback(socket.remoteAddress ?? "") && isLoopbackHost(headers.host ?? "");
}

/** True if `Host` (a name or address, with or without a port) is localhost or a loopback address. */
export function isLoopbackHost(host: string): boolean {
  const name = hostNameOf(host);
  return name === "localhost" || isLoopback(name ?? "");
}

/**
 * The name or address in a `Host` header or setting, in lower case, without port, IPv6 brackets and trailing dot. Undefined if it has
 * neither.
 */
export function hostNameOf(host: string): string | undefined {
  if (isIP(host) === 6) return host.toLowerCase();
  const [, address, name] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  if (address !== undefined) return isIP(address) === 6 ? address.toLowerCase() : undefined;
  return name?.replace(/\.$/, "").toLowerCase() || undefined;
}

/** True if the caller may see why a part is unhealthy: it calls from this machine, or has the operator's token as Bearer. */
export const mayKnowDetails = (request: IncomingMessage, token: string | undefined): boolean =>
  isFromLoopback(request) || (token !== undefined && isToken(bearerOf(request), token));

/** The Bearer token of a request. */
export const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];

/** Compares a given token with the expected one in constant time. */
export const isToken = (given: string | undefined, token: string): boolean =>
  given !== undefined && timingSafeEqual(hash(given), hash(token));

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
