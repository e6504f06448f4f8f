import type { IncomingMessage } from "node:http";

/**
 * Whether a page of this service sends this request, as far as a browser tells: `Sec-Fetch-Site` where it sends it, else `Origin`. A request that says
 * neither comes from no browser of today, and is not taken for one.
 */
export function isSameOrigin({ headers }: IncomingMessage, publicUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return headers.origin === new URL(publicUrl).origin;
}

/** An address within this service to go on to, as `next=` names it; undefined for any other. */
export function ownPath(next: string | null | undefined): string | undefined {
  // A second slash or a backslash would name another host; control characters are dropped by browsers, and could hide one.
  if (!next || next.length > 2_000 || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next)) return undefined;
  const url = new URL(next, "http://own.invalid");
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Dots in it are resolved by now: what was behind them may name another host.
  return url.origin === "http://own.invalid" && !path.startsWith("//") ? path : undefined;
}
