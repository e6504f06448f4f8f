import { request } from "undici";
import { createPublicAgents, type PublicWebOptions } from "./agents.ts";
import { beginningOf } from "./beginningOf.ts";
import type { PictureSource } from "./pictureSource.ts";

/** Milliseconds for look-up, connection and body together. */
const usualTimeoutMs = 5_000;

/** Fetches with HTTP GET, only from the public internet. A redirect counts as not found. */
export function createUndiciPictureSource(options: PublicWebOptions): PictureSource {
  const { timeoutMs = usualTimeoutMs } = options;
  const agents = createPublicAgents({ ...options, timeoutMs });

  async function read(url: URL, maxBytes: number): Promise<Buffer | undefined> {
    const dispatcher = agents.agentFor(url);
    if (!dispatcher) return undefined;
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, body } = await request(url, { dispatcher, signal, headers: { accept: "image/*" } });
    const { bytes, isWhole } = await beginningOf(body, statusCode === 200 ? maxBytes : 0);
    return statusCode === 200 && isWhole ? bytes : undefined;
  }

  return {
    fetch: async (url, maxBytes) =>
      URL.canParse(url) ? read(new URL(url), maxBytes).catch(() => undefined) : undefined,
    close: () => agents.close(),
  };
}
