import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Made } from "./requestMaker.ts";

export type Got = { status: number; headers: Record<string, unknown>; text: string; tookMs: number };

/** Why there is no answer, and what its connection had seen before. */
export type Lost = { lost: string };

/** How long an answer may take; what never ends (an event stream) is read up to its head. */
const withinMs = 30_000;

/** What a connection carried before, and since when (milliseconds of this process) nothing. */
type Before = { what: string; since: number };

/** Sends requests as they are, also such as `fetch` would put right. */
export function createRequestClient(baseUrl: string) {
  const { hostname, port } = new URL(baseUrl);
  // Without a time of its own this agent would not look at the one that the service announces, and now and then send a request just as that closes.
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 2 * withinMs });

  const before = new WeakMap<Socket, Before>();

  function remember(socket: Socket | null, what: string): void {
    if (socket) before.set(socket, { what, since: performance.now() });
  }

  async function ask({ method, url, headers, body, slow }: Made): Promise<Got | Lost> {
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
      let last = "a new connection";
      sent.on("socket", (socket: Socket) => {
        const known = before.get(socket);
        if (known) last = `${Math.round(performance.now() - known.since)} ms after ${known.what}`;
      });
      const give = (got: Got | Lost) => {
        clearTimeout(timer);
        resolve(got);
      };
      const lose = (error: NodeJS.ErrnoException) => give({ lost: `${error.code ?? error.message}, ${last}` });
      const timer = setTimeout(() => sent.destroy(new Error("no answer in time")), withinMs);
      sent.on("error", lose);
      sent.on("response", (response) => {
        const { statusCode: status = 0, headers: named } = response;
        const tookMs = performance.now() - began;
        if (String(named["content-type"]).startsWith("text/event-stream")) {
          sent.destroy();
          return give({ status, headers: named, text: "", tookMs });
        }
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", lose);
        response.on("end", () => {
          remember(
            sent.socket,
            `${status} to ${method} ${url.slice(0, 100)} with ${body?.length ?? 0} bytes ${slow ?? ""}`,
          );
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
