import { quotedWords } from "../providerWords.ts";

/**
 * Slack's response to a request. `again`: a retry may help. `pauseMs`: after this pause, which Slack asked for. `why`: one line with Slack's
 * own error name and words, and nothing of the request.
 */
export type SlackAnswer =
  | { ok: true; body: Record<string, unknown> }
  | { ok: false; again: boolean; why: string; code?: string; pauseMs?: number };

/** Slack's names for temporary errors. Other errors persist until someone changes something. */
const passing =
  /^(ratelimited|rate_limited|message_limit_exceeded|internal_error|fatal_error|service_unavailable|request_timeout|team_added_to_org)$/;

/** `text`: undefined if the response was too long. `secrets`: of the request, which are not quoted. */
export function judged(answer: {
  status: number;
  retryAfter: string;
  text: string | undefined;
  secrets: readonly string[];
}): SlackAnswer {
  const { status, text = "", secrets } = answer;
  if (status === 429) return busy(answer.retryAfter);
  if (status >= 500 || status === 408)
    return { ok: false, again: true, why: `Slack answered ${status}${quotedWords(text, secrets)}` };
  if (status >= 300 && status < 400) {
    return { ok: false, again: false, why: `the response was a redirect (${status}), and redirects are not followed` };
  }
  const json = jsonOf(text);
  if (status < 300 && (text.trim() === "ok" || json?.ok === true)) return { ok: true, body: json ?? {} };
  const code = nameOf(json?.error ?? text);
  if (code === undefined && status < 300)
    return { ok: false, again: true, why: "the response did not come from Slack" };
  if (code !== undefined && /^(ratelimited|rate_limited)$/.test(code)) return busy(answer.retryAfter);
  const words = quotedWords(code === undefined ? text : detailsOf(json), secrets);
  const said = `Slack answered ${code ?? status}${words}`;
  return { ok: false, again: code !== undefined && passing.test(code), why: said, ...(code && { code }) };
}

function busy(retryAfter: string): SlackAnswer {
  const seconds = /^\d{1,6}$/.test(retryAfter.trim()) ? Number(retryAfter) : 30;
  return { ok: false, again: true, why: `Slack is busy: retry after ${seconds} s`, pauseMs: seconds * 1000 };
}

/** What Slack says of an error besides its name: messages about blocks and arguments, and the scope that is missing. */
function detailsOf(json: Record<string, unknown> | undefined): string {
  const { response_metadata: about, errors, needed } = json ?? {};
  const { messages } = (typeof about === "object" && about !== null ? about : {}) as { messages?: unknown };
  const said = [errors, messages].flat().filter((each) => typeof each === "string");
  return [...said, ...(typeof needed === "string" ? [`needed: ${needed}`] : [])].join("; ");
}

const nameOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[a-z][a-z_]{1,60}$/.test(value.trim()) ? value.trim() : undefined;

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
