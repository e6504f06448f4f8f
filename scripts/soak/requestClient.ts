import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import type { MadeRequest } from "./requestMaker.ts";

export type ReceivedResponse = { status: number; headers: Record<string, unknown>; text: string; tookMs: number };

const withinMs = 30_000;

/** Sends requests unchanged, even those that `fetch` would correct. */
export function createRequestClient(baseUrl: string) {
  const pool = new Pool(baseUrl, { connections: 64, headersTimeout: withinMs, bodyTimeout: withinMs });
  return {
    /** Resolves with `lost`, the reason, if there is no answer. */
    async ask({ method, url, headers, body, slow }: MadeRequest): Promise<ReceivedResponse | { lost: string }> {
      const began = performance.now();
      try {
        const { statusCode: status, ...response } = await pool.request({
          ...{ method: method as "GET", path: url, headers },
          body: body === undefined ? null : slow ? Readable.from(slowly(body, slow)) : body,
        });
        // A stream of events never ends.
        const isStream = String(response.headers["content-type"]).startsWith("text/event-stream");
        const text = isStream ? "" : await response.body.text();
        if (isStream) response.body.on("error", () => {}).destroy();
        return { status, headers: response.headers, text, tookMs: performance.now() - began };
      } catch (error) {
        return { lost: String(error) };
      }
    },
    close: () => pool.destroy(),
  };
}

/** Yields a body whose end comes late, or never. */
async function* slowly(body: string, slow: NonNullable<MadeRequest["slow"]>): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(body);
  const half = Math.floor(bytes.length / 2);
  yield bytes.subarray(0, half);
  await sleep(100);
  if (slow === "never") throw new Error("broken off");
  yield bytes.subarray(half);
}
