import { Agent, request } from "undici";
import { ProviderAway, ProviderRefused } from "../sendingDomains.ts";

export type WebApiOptions = {
  /** Base address, such as https://api.sendgrid.com. */
  baseUrl: string;
  apiKey: string;
};

export type WebApiCall = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  /** Statuses that count as an answer, besides 2xx. */
  answers?: readonly number[];
};

export type WebApiAnswer = { status: number; json: unknown };

/** Maximum number of bytes of an answer: an account may have many domains. */
const maxAnswerBytes = 2 * 1024 * 1024;

/**
 * Calls SendGrid's web API: one call, one answer, of bounded size, until the signal ends. Throws ProviderAway if a retry may help (no
 * answer, 401, 403, 408, 429, 5xx, an answer that is not JSON) and ProviderRefused for other statuses; both name only the purpose of the
 * call and its status.
 */
export function sendGridWebApi({ baseUrl, apiKey }: WebApiOptions) {
  const dispatcher = new Agent({ maxResponseSize: maxAnswerBytes, connect: { timeout: 10_000 } });

  async function call({ method, path, body, answers = [] }: WebApiCall, signal: AbortSignal): Promise<WebApiAnswer> {
    const answer = await request(new URL(path, baseUrl), {
      ...{ method, dispatcher, signal },
      headers: { authorization: `Bearer ${apiKey}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    })
      .then(async ({ statusCode: status, body: content }) => ({ status, text: await content.text() }))
      .catch((error) => {
        throw new ProviderAway(
          signal.aborted ? "SendGrid did not answer in time" : `SendGrid gave no answer (${codeOf(error)})`,
        );
      });
    const { status } = answer;
    if ((status >= 200 && status < 300) || answers.includes(status))
      return { status, json: parsed(answer.text, status) };
    if ([401, 403].includes(status)) throw new ProviderAway(`SendGrid refuses SENDGRID_API_KEY for this (${status})`);
    if (status === 408 || status === 429 || status >= 500) throw new ProviderAway(`SendGrid answered ${status}`);
    throw new ProviderRefused(`SendGrid refused it (${status})`);
  }

  return { call, close: () => dispatcher.destroy() };
}

function parsed(text: string, status: number): unknown {
  if (text.trim() === "" || status >= 400) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderAway("SendGrid's answer cannot be read");
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? "the connection was lost");
