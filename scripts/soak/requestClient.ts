import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Made } from "./requestMaker.ts";

export type Got = { status: number; headers: Record<string, unknown>; text: string; tookMs: number };

/** How long an answer may take; what never ends (an event stream) is read up to its head. */
const withinMs = 30_000;

/** Sends requests as they are, also such as `fetch` would put right. Undefined: the connection ended without an answer. */
export function createRequestClient(baseUrl: string) {
  const { hostname, port } = new URL(baseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });

  async function ask({ method, url, headers, body, slow }: Made): Promise<Got | undefined> {
    const began = performance.now();
    const length = body === undefined ? [] : ["Content-Length", String(Buffer.byteLength(body))];
    return new Promise((resolve) => {
      const sent = request({
        agent,
        hostname,
        port,
        method,
        path: url,
        headers: ["Host", hostname, ...headers, ...length] as any,
      });
      const give = (got: Got | undefined) => {
        clearTimeout(timer);
        resolve(got);
      };
      const timer = setTimeout(() => sent.destroy(new Error("no answer in time")), withinMs);
      sent.on("error", () => give(undefined));
      sent.on("response", (response) => {
        const { statusCode: status = 0, headers: named } = response;
        const tookMs = performance.now() - began;
        if (String(named["content-type"]).startsWith("text/event-stream")) {
          sent.destroy();
          return give({ status, headers: named, text: "", tookMs });
        }
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", () => give(undefined));
        response.on("end", () => {
          give({ status, headers: named, text: Buffer.concat(chunks).toString("utf8"), tookMs });
          // What was not taken is not waited for.
          if (slow === "never") sent.destroy();
        });
      });
      void write(sent, body, slow);
    });
  }

  return { ask, close: () => agent.destroy() };
}

async function write(sent: ReturnType<typeof request>, body: string | undefined, slow: Made["slow"]): Promise<void> {
  if (body === undefined || slow === undefined) return void sent.end(body);
  const bytes = Buffer.from(body);
  const half = Math.floor(bytes.length / 2);
  sent.write(bytes.subarray(0, half));
  await sleep(100);
  if (sent.destroyed) return;
  if (slow === "never") sent.destroy();
  else sent.end(bytes.subarray(half));
}
