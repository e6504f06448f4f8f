import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { setMaxListeners } from "node:events";
import { Agent, request } from "undici";
import type { WebhookAnswer, WebhookSender } from "./sender.ts";
import { signedHeaders } from "./signatures.ts";
import { isAllowedHost, isPrivateHost, isPublicAddress } from "./targets.ts";

type Found = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** How names become addresses; the system's unless told. */
export type Lookup = (name: string, options: LookupOptions & { all: true }, found: Found) => void;

export type SenderOptions = {
  /** `host` or `host:port` that may be private, resolve to private addresses, and be plain http. */
  allowedHosts: readonly string[];
  timeoutMs?: number;
  lookup?: Lookup;
  /** Certificates to trust instead of the system's. */
  ca?: string;
};

const maxAnswerBytes = 64 * 1024;

/**
 * Webhooks over HTTP. Every delivery has a connection of its own, whose address is checked by the very look-up that the connection uses: a name
 * that answers differently the next time gains nothing. Follows no redirect, knows no proxy.
 */
export function createUndiciSender(options: SenderOptions): WebhookSender {
  const { allowedHosts, timeoutMs = 15_000, lookup = systemLookup as Lookup, ca } = options;
  const agentWith = (look: Lookup) =>
    new Agent({ pipelining: 0, connect: { lookup: look as never, timeout: timeoutMs, ...(ca ? { ca } : {}) } });
  const strict = agentWith(publicOnly(lookup));
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

/** Refuses a name of which any address is not public. */
export const publicOnly =
  (lookup: Lookup): Lookup =>
  (name, options, found) => {
    const one = (options as LookupOptions).all !== true;
    lookup(name, { ...options, all: true }, (error, addresses) => {
      if (error) return found(error, []);
      const refused = addresses.find(({ address }) => !isPublicAddress(address)) ?? addresses.length === 0;
      if (refused) return found(new Error("the host's name resolves to an address that is not public"), []);
      const [first] = addresses as [LookupAddress];
      if (one) return (found as unknown as (e: null, a: string, f: number) => void)(null, first.address, first.family);
      return found(null, addresses);
    });
  };

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
