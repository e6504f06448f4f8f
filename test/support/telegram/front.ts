import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A call of a bot's method, with its parameters as received: text, and JSON for structured ones. */
export type BotCall = { token: string; method: string; params: Record<string, string> };

/** `body`: a value as JSON, or text unchanged. `hangs`: no answer. */
export type BotCallAnswer = { status?: number; body?: unknown; hangs?: boolean };

export const refused = (status: number, description: string, parameters?: object): BotCallAnswer => ({
  status,
  body: { ok: false, error_code: status, description, ...(parameters && { parameters }) },
});

/** A server of our own in front of the emulator: records each call, and can answer in its place, such as with errors of Telegram. */
export async function startFront(behind?: string) {
  const calls: BotCall[] = [];
  const rules: ((call: BotCall) => BotCallAnswer | undefined)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const [, token = "", method = ""] = /^\/bot([^/]+)\/(\w+)/.exec(request.url ?? "") ?? [];
    const call = { token, method, params: Object.fromEntries(new URLSearchParams(body.toString())) };
    calls.push(call);
    const answer = rules.map((rule) => rule(call)).find((each) => each !== undefined);
    if (answer) return reply(response, answer);
    if (behind === undefined) return reply(response, { body: { ok: true, result: true } });
    const headers = { "content-type": request.headers["content-type"] ?? "" };
    const given = await fetch(`${behind}${request.url}`, { method: "POST", headers, body });
    reply(response, { status: given.status, body: await given.text() });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    /** Answers later calls by this rule, until the returned function is called. */
    answers(rule: (call: BotCall) => BotCallAnswer | undefined): () => void {
      rules.unshift(rule);
      return () => void rules.splice(rules.indexOf(rule), 1);
    },
    async stop() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

function reply(response: ServerResponse, { status = 200, body, hangs }: BotCallAnswer): void {
  if (hangs) return;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
