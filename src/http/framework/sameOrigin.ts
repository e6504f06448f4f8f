import type { IncomingMessage } from "node:http";
import { invalid } from "./errors.ts";
import { isLoopbackHost } from "./insiders.ts";

/**
 * The page that sends a request, as far as a browser tells: `Sec-Fetch-Site` where it is sent, else `Origin`. "none": the request names no page, or the
 * address was typed in.
 */
function sendingPage({ headers }: IncomingMessage, publicUrl: string): "own" | "other" | "none" {
  const { origin, "sec-fetch-site": site } = headers;
  if (site !== undefined) return site === "same-origin" ? "own" : site === "none" ? "none" : "other";
  if (origin === undefined) return "none";
  return origin === new URL(publicUrl).origin ? "own" : "other";
}

/** True if a page of this service sends the request. A request that names no page is sent by no browser of today, and counts as another's. */
export const isSameOrigin = (request: IncomingMessage, publicUrl: string): boolean =>
  sendingPage(request, publicUrl) === "own";

/** Throws if a page of another site sends the request. Programs name no page, and pass. */
export function requireNoOtherSite(request: IncomingMessage, publicUrl: string): void {
  const page = sendingPage(request, publicUrl);
  // A browser that says that no page sends a request has had its address typed in, which is a GET.
  const isTyped = request.headers["sec-fetch-site"] === undefined || ["GET", "HEAD"].includes(request.method ?? "");
  if (page === "own" || (page === "none" && isTyped)) return;
  throw invalid("Origin", "this is not asked for by pages of other sites");
}

/** True if a page of another site sends the request. Pages of this machine count as programs: tools of developers are served there. */
export function isOtherSite({ headers: { origin } }: IncomingMessage, publicUrl: string): boolean {
  if (origin === undefined || origin === new URL(publicUrl).origin) return false;
  return !(URL.canParse(origin) && isLoopbackHost(new URL(origin).host));
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
