import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { createPublicAgents, type PublicWebOptions } from "#src/platform/publicWeb/agents.ts";
import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";
import { isPrivateHost } from "#src/platform/publicWeb/hosts.ts";
import { cutText } from "#streams/cutText.ts";
import { judged, type SlackAnswer } from "./answers.ts";
import type { SlackHosts } from "./slackHosts.ts";

export type SlackApiOptions = SlackHosts & Pick<PublicWebOptions, "resolver" | "lookup" | "ca" | "timeoutMs">;

/** `token`: of the bot that calls a method. `signal` aborts the call. */
type SlackCallOptions = { token?: string; signal?: AbortSignal };

export type SlackApi = {
  hosts: SlackHosts;
  /**
   * Posts JSON once, or again if Slack asks for a pause of seconds. Never throws. Its answer contains nothing of the URL or the token, and
   * of the response only Slack's words.
   */
  post(url: URL, json: unknown, given?: SlackCallOptions): Promise<SlackAnswer>;
  close(): Promise<void>;
};

const maxAnswerBytes = 64 * 1024;
const usualTimeoutMs = 10_000;
/**
 * Maximum length in milliseconds of a pause that is waited for here. Slack accepts about one message per second in a channel, and asks for
 * a short pause after that; a longer pause is left to the next attempt.
 */
const longestPauseMs = 5_000;
const mostPauses = 3;

/** Makes requests to Slack, to public internet addresses only. */
export function createSlackApi({
  slackAllowedHosts,
  webhookAllowedHosts,
  timeoutMs = usualTimeoutMs,
  ...options
}: SlackApiOptions): SlackApi {
  // An IP address that the operator configured is not a name that DNS could redirect.
  const writtenOut = slackAllowedHosts.filter(
    (host) => URL.canParse(`https://${host}`) && isPrivateHost(new URL(`https://${host}`)),
  );
  const allowedHosts = [...webhookAllowedHosts, ...writtenOut];
  const agents = createPublicAgents({ ...options, allowedHosts, timeoutMs });

  async function once(url: URL, json: unknown, { token, signal }: SlackCallOptions): Promise<SlackAnswer> {
    const dispatcher = agents.agentFor(url);
    if (!dispatcher) return { ok: false, again: false, why: "its host is not on the public internet" };
    const ended = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await request(url, {
        method: "POST",
        dispatcher,
        headers: {
          "content-type": "application/json; charset=utf-8",
          "user-agent": "Countersign-Slack/1",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(json),
        signal: signal ? AbortSignal.any([signal, ended]) : ended,
      });
      const { bytes, isWhole } = await beginningOf(answer.body, maxAnswerBytes);
      // A response too long for Slack is ignored.
      const text = isWhole ? bytes.toString() : undefined;
      const retryAfter = String(answer.headers["retry-after"] ?? "");
      // The URL of a webhook is a secret by its last part alone.
      const secrets = token === undefined ? [url.href, url.pathname, url.pathname.split("/").at(-1) ?? ""] : [token];
      return judged({ status: answer.statusCode, retryAfter, text, secrets });
    } catch (error) {
      return {
        ok: false,
        again: true,
        why: ended.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error),
      };
    }
  }

  return {
    hosts: { slackAllowedHosts, webhookAllowedHosts },
    async post(url, json, given = {}) {
      for (let pauses = 0; ; pauses++) {
        const answer = await once(url, json, given);
        if (answer.ok || answer.pauseMs === undefined) return answer;
        if (answer.pauseMs > longestPauseMs || pauses === mostPauses) return answer;
        const isCut = await sleep(answer.pauseMs, false, given.signal ? { signal: given.signal } : {}).catch(
          () => true,
        );
        if (isCut) return answer;
      }
    },
    close: () => agents.close(),
  };
}

/** Returns only the code of an error, or the sentences of our own look-up: other messages may quote the request. */
function reasonOf(error: unknown): string {
  const { code, message = "" } = error as { code?: unknown; message?: string };
  if (message.startsWith("the host's name")) return cutText(message, 200);
  return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code)
    ? `it cannot be reached (${code})`
    : "it cannot be reached";
}
