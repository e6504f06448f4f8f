import { shortLine } from "#src/html/visible.ts";
import type { HandOverOutcome } from "#src/mail/mailProvider.ts";
import type { ApiAnswer } from "./wire.ts";

/** Maximum number of seconds that an answer can make the service wait. */
const longestWait = 86_400;

/**
 * Interprets an answer to mail/send. 202 is the only acceptance, and every 4xx a refusal. Any other answer (5xx, a redirect, an answer to
 * half a request) says nothing about the mail.
 */
export function outcomeOf(answer: ApiAnswer, now: Date): HandOverOutcome {
  const { status, headers, early } = answer;
  if (status === 202 && !early) {
    const providerId = /^[\w.-]{1,200}$/.exec(String(headers["x-message-id"] ?? ""))?.[0];
    return {
      kind: "accepted",
      response: `202${providerId ? ` ${providerId}` : ""}`,
      ...(providerId && { providerId }),
    };
  }
  if (status === 429) {
    const retryAfterSeconds = secondsToWait(answer, now);
    const message = "SendGrid accepts no more mail for the moment (429)";
    return { kind: "refused", retryable: true, code: "429", message, retryAfterSeconds };
  }
  if (status === 401 || status === 403) {
    const message = `SendGrid rejects the service's credentials, or its sender (${status})${reasonOf(answer)}`;
    return { kind: "refused", retryable: true, code: "provider_credentials", message };
  }
  if (status >= 400 && status < 500)
    return {
      kind: "refused",
      retryable: false,
      code: String(status),
      message: `SendGrid refused it (${status})${reasonOf(answer)}`,
    };
  return {
    kind: "unknown",
    message: early ? "SendGrid responded before it had received the mail" : `SendGrid answered ${status}`,
  };
}

/** Seconds until the rate limit is lifted, if the answer says so. */
function secondsToWait({ headers }: ApiAnswer, now: Date): number {
  const retryAfter = String(headers["retry-after"] ?? "");
  const reset = Number(headers["x-ratelimit-reset"]);
  const nowSeconds = now.getTime() / 1000;
  const waits = [
    /^\d+$/.test(retryAfter) ? Number(retryAfter) : Date.parse(retryAfter) / 1000 - nowSeconds,
    // Large values are a time in seconds since 1970; small ones can only be a duration.
    reset > 1e9 ? reset - nowSeconds : reset,
  ].filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return Math.min(longestWait, Math.ceil(Math.max(0, ...waits)));
}

/** Returns the first sentence of SendGrid's error message for people; empty if there is none. */
function reasonOf({ text }: ApiAnswer): string {
  try {
    const { errors } = JSON.parse(text) as { errors?: { message?: unknown }[] };
    const message = errors?.[0]?.message;
    return typeof message === "string" && message ? `: ${shortLine(withoutKeys(message), 300)}` : "";
  } catch {
    return "";
  }
}

/** Removes keys: an answer may repeat the request. */
const withoutKeys = (text: string): string => text.replace(/(?:Bearer\s+|SG\.)\S+/gi, "…");
