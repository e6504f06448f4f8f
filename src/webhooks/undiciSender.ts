import { lookup as systemLookup } from "node:dns";
import { setMaxListeners } from "node:events";
import { Agent, request } from "undici";
import type { Resolver } from "#src/dns/resolver.ts";
import { type ConnectLookup, publicLookup } from "./publicLookup.ts";
import type { WebhookAnswer, WebhookSender } from "./sender.ts";
import { signedHeaders } from "./signatures.ts";
import { isAllowedHost, isPrivateHost } from "./targets.ts";

export type SenderOptions = {
  /** `host` or `host:port` that may be private, resolve to private addresses, and be plain http. */
  allowedHosts: readonly string[];
  /** For every other host. */
  resolver: Pick<Resolver, "a" | "aaaa">;
  timeoutMs?: number;
  /** For allowed hosts; the system's unless told. */
  lookup?: ConnectLookup;
  /** Certificates to trust instead of the system's. */
  ca?: string;
};

const maxAnswerBytes = 64 * 1024;

/**
 * Webhooks over HTTP. Every delivery has a connection of its own, whose address is checked by the very look-up that the connection uses: a name
 * that answers differently the next time gains nothing. Follows no redirect, knows no proxy.
 */
export function createUndiciSender(options: SenderOptions): WebhookSender {
  const { allowedHosts, resolver, timeoutMs = 15_000, lookup = systemLookup as ConnectLookup, ca } = options;
  const agentWith = (look: ConnectLookup) =>
    new Agent({ pipelining: 0, connect: { lookup: look as never, timeout: timeoutMs, ...(ca ? { ca } : {}) } });
  const strict = agentWith(publicLookup(resolver));
  const trusting = agentWith(lookup);

  return {
    async post({ url: text, ...signed }, signal) {
      const url = new URL(text);
      const allowed = isAllowedHost(url, allowedHosts);
      if (!allowed && (url.protocol !== "https:" || isPrivateHost(url))) {
        return { status: null, error: "the URL does not point to the public internet by https" };
      }
      const cut = cutAfter(timeoutMs, signal);
      try {
        const answer = await request(url, {
          method: "POST",
          dispatcher: allowed ? trusting : strict,
          headers: {
            "content-type": "application/json",
            "user-agent": "Countersign-Webhooks/1",
            ...signedHeaders(signed),
          },
          body: signed.body,
          signal: cut.signal,
        });
        // The status has been said; what follows is let go of, and whatever happens to it changes nothing.
        await answer.body.dump({ limit: maxAnswerBytes, signal: cut.signal }).catch(() => undefined);
        return answered(answer.statusCode);
      } catch (error) {
        return { status: null, error: cut.timedOut() ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error) };
      } finally {
        cut.end();
      }
    },
    async close() {
      await Promise.all([strict.destroy(), trusting.destroy()]);
    },
  };
}

function answered(status: number): WebhookAnswer {
  if (status >= 300 && status < 400)
    return { status, error: "a redirect: webhooks are delivered to their own URL alone" };
  return { status, error: status >= 200 && status < 300 ? null : `the receiver answered ${status}` };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return [code, message].filter(Boolean).join(": ").slice(0, 300) || "no answer";
}

/** A signal that comes after so long, or with another one. */
function cutAfter(milliseconds: number, other: AbortSignal) {
  const controller = new AbortController();
  setMaxListeners(0, other);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    controller.abort(new Error("timed out"));
  }, milliseconds);
  const abort = (): void => controller.abort(new Error("cut off"));
  if (other.aborted) abort();
  else other.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    timedOut: () => late,
    end(): void {
      clearTimeout(timer);
      other.removeEventListener("abort", abort);
    },
  };
}
