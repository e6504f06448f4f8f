import { type RequestInit, fetch as undiciFetch } from "undici";
import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";

/** Headers that the SDK reads. Others are dropped: it would print a `stripe-notice`, which is third-party text. */
const knownHeaders = ["content-type", "request-id", "stripe-should-retry"];

/** Error of a connection that closed without an answer, in the form that the SDK retries, under the same idempotency key. */
const connectionClosed = () => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });

/**
 * `fetch` for an API with small JSON answers: follows no redirect, and reads at most `maxBytes` of an answer before passing it on whole. A
 * failed answer without an `error` object is turned into a server error: the SDK takes any JSON without `error` for success, whatever its
 * status.
 */
export const boundedFetch =
  ({ maxBytes }: { maxBytes: number }): typeof fetch =>
  async (url, init) => {
    // Sent by our own version of undici: if another version is loaded, Node's fetch refuses a Content-Length that it did not compute
    // itself.
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
    // An answer without a readable error counts as a server error, whatever its status.
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
