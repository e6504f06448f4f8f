import type { IncomingMessage } from "node:http";
import { invalid } from "./errors.ts";
import { isLoopbackHost } from "./trustedCallers.ts";

/** The page that sends a request, by `Sec-Fetch-Site` or else `Origin`. "none": no page is named, or the address was typed in. */
function sendingPage({ headers }: IncomingMessage, publicUrl: string): "own" | "other" | "none" {
  const { origin, "sec-fetch-site": site } = headers;
  if (site !== undefined) return site === "same-origin" ? "own" : site === "none" ? "none" : "other";
  if (origin === undefined) return "none";
  return origin === new URL(publicUrl).origin ? "own" : "other";
}

/** True if a page of this service sends the request. All current browsers name the page, so a request that names none counts as foreign. */
export const isSameOrigin = (request: IncomingMessage, publicUrl: string): boolean =>
  sendingPage(request, publicUrl) === "own";

/** Throws if a page of another site sends the request. Programs name no page and are accepted. */
export function requireNoOtherSite(request: IncomingMessage, publicUrl: string): void {
  const page = sendingPage(request, publicUrl);
  // A browser sends Sec-Fetch-Site "none" for typed addresses only, which are GET requests.
  const isTyped = request.headers["sec-fetch-site"] === undefined || ["GET", "HEAD"].includes(request.method ?? "");
  if (page === "own" || (page === "none" && isTyped)) return;
  throw invalid("Origin", "pages of other sites may not make this request");
}

/** True if a page of another site sends the request. Pages on this machine count as programs, because developer tools are served there. */
export function isOtherSite({ headers: { origin } }: IncomingMessage, publicUrl: string): boolean {
  if (origin === undefined || origin === new URL(publicUrl).origin) return false;
  return !(URL.canParse(origin) && isLoopbackHost(new URL(origin).host));
}

/** A path within this service, as in `next=`; undefined for any other address. */
export function ownPath(next: string | null | undefined): string | undefined {
  // A second slash or a backslash would start a host name; browsers drop control characters, which could hide one.
  if (!next || next.length > 2_000 || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next)) return undefined;
  const url = new URL(next, "http://own.invalid");
  const path = `${url.pathname}${url.search}${url.hash}`;
  // URL has resolved dot segments by now: the path behind them may start with a host name.
  return url.origin === "http://own.invalid" && !path.startsWith("//") ? path : undefined;
}
