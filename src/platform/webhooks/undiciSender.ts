import { setMaxListeners } from "node:events";
import { request } from "undici";
import { createPublicAgents, type PublicWebOptions } from "#src/platform/publicWeb/agents.ts";
import type { WebhookAnswer, WebhookSender } from "./sender.ts";
import { signedHeaders } from "./signatures.ts";

export type SenderOptions = PublicWebOptions;

const maxAnswerBytes = 64 * 1024;

/** Sends webhooks over HTTP, only to the public internet. Every delivery has its own connection. */
export function createUndiciSender(options: SenderOptions): WebhookSender {
  const { timeoutMs = 15_000 } = options;
  const agents = createPublicAgents({ ...options, timeoutMs });

  return {
    async post({ url: text, ...signed }, signal) {
      const url = new URL(text);
      const dispatcher = agents.agentFor(url);
      if (!dispatcher)
        return { status: null, error: "the URL is not https, or its host is not on the public internet" };
      const cut = cutAfter(timeoutMs, signal);
      try {
        const answer = await request(url, {
          method: "POST",
          dispatcher,
          headers: {
            "content-type": "application/json",
            "user-agent": "Countersign-Webhooks/1",
            ...signedHeaders(signed),
          },
          body: signed.body,
          signal: cut.signal,
        });
        // The status is known; the body is discarded, and its errors are ignored.
        await answer.body.dump({ limit: maxAnswerBytes, signal: cut.signal }).catch(() => undefined);
        return answered(answer.statusCode);
      } catch (error) {
        return { status: null, error: cut.timedOut() ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error) };
      } finally {
        cut.end();
      }
    },
    close: () => agents.close(),
  };
}

function answered(status: number): WebhookAnswer {
  if (status >= 300 && status < 400)
    return {
      status,
      error:
        "the receiver answered with a redirect, and redirects are not followed: set the webhook's url to the final one",
    };
  return { status, error: status >= 200 && status < 300 ? null : `the receiver answered ${status}` };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return [code, message].filter(Boolean).join(": ").slice(0, 300) || "no answer";
}

/** Returns a signal that aborts after so many milliseconds, or with `other`. */
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
