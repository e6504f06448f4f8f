import { setMaxListeners } from "node:events";
import { request } from "undici";
import { createPublicAgents, type PublicWebOptions } from "#src/platform/publicWeb/agents.ts";
import { cutText, cutToBytes } from "#streams/cutText.ts";
import { shownAnswerBytes, type WebhookAnswer, type WebhookSender } from "./sender.ts";
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
      if (!dispatcher) return unanswered("the URL is not https, or its host is not on the public internet");
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
        return answered(answer.statusCode, await beginningOf(answer.body));
      } catch (error) {
        return unanswered(cut.timedOut() ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error));
      } finally {
        cut.end();
      }
    },
    close: () => agents.close(),
  };
}

const unanswered = (error: string): WebhookAnswer => ({ status: null, error, body: null });

const answered = (status: number, body: string): WebhookAnswer => ({ status, error: faultOf(status), body });

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status < 300 || status >= 400) return `the receiver answered ${status}`;
  return "the receiver answered with a redirect, and redirects are not followed: set the webhook's url to the final one";
}

/** Returns what is kept of an answer, and reads the rest of it to its limit. Never rejects: the status is known, whatever follows. */
async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      if (size < shownAnswerBytes) chunks.push(chunk);
      size += chunk.length;
      if (size > maxAnswerBytes) break;
    }
  } catch {
    // The answer broke off, or took too long.
  }
  return cutToBytes(Buffer.concat(chunks).toString().replaceAll("\0", "\ufffd"), shownAnswerBytes);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return cutText([code, message].filter(Boolean).join(": "), 300) || "no answer";
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
