import { type RequestInit, fetch as undiciFetch } from "undici";
import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";

/** What the SDK looks at. Others stay here: it would print a `stripe-notice`, which is somebody else's text. */
const knownHeaders = ["content-type", "request-id", "stripe-should-retry"];

/** A connection that closed before it answered, as the SDK knows it: tried once more under the same idempotency key. */
const connectionClosed = () => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });

/**
 * `fetch` for an API that answers in small JSON objects: it follows no redirect, and reads at most `maxBytes` of an answer before it hands it on
 * whole. A failure's answer that does not say what failed is one itself: the SDK takes any JSON without `error` for success, whatever its status.
 */
export const boundedFetch =
  ({ maxBytes }: { maxBytes: number }): typeof fetch =>
  async (url, init) => {
    // Our own undici's: with another version beside it, Node's own fetch refuses a Content-Length that it did not count itself.
    const headers = new Headers(init?.headers);
    headers.delete("content-length");
    const asked = { ...init, headers: [...headers], redirect: "manual" } as RequestInit;
    const answer = await undiciFetch(String(url), asked).catch((error: unknown) => {
      const { code } = (error as { cause?: { code?: string } }).cause ?? {};
      throw code === "UND_ERR_SOCKET" || code === "ECONNRESET" ? connectionClosed() : error;
    });
    const { bytes, isWhole } = await beginningOf(answer.body, maxBytes);
    if (!isWhole) throw new Error("the answer is too long");
    const text = new TextDecoder().decode(bytes);
    const known = knownHeaders.flatMap((name): [string, string][] => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const body = answer.ok || saysWhatFailed(text) ? text : JSON.stringify({ error: { type: "api_error" } });
    // Such a failure counts as one of the server's own, whatever its status says.
    const status = body === text ? answer.status : Math.max(answer.status, 500);
    return new Response(body, { status: status === 204 || status === 304 ? 502 : status, headers: known });
  };

function saysWhatFailed(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "object" && error !== null;
  } catch {
    return false;
  }
}
