import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** Whether a request comes from this very machine: its socket does, it asks for this machine by name, and nobody has handed it on. */
export function isFromLoopback({ socket, headers }: IncomingMessage): boolean {
  const handedOn = Object.keys(headers).some((name) => /^(x-forwarded-.*|forwarded|x-real-ip|via)$/.test(name));
  return !handedOn && isLoopback(socket.remoteAddress ?? "") && isLoopbackHost(headers.host ?? "");
}

function isLoopbackHost(host: string): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(host)?.[1]?.replace(/^\[|\]$/g, "") ?? "";
  return /^localhost\.?$/i.test(name) || isLoopback(name);
}

/** Whether the caller may know what a part says about its trouble: from this machine, or with the operator's token as Bearer. */
export function mayKnowDetails(request: IncomingMessage, token: string | undefined): boolean {
  if (isFromLoopback(request)) return true;
  const given = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
  return token !== undefined && given !== undefined && timingSafeEqual(hash(given), hash(token));
}

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
