import { request } from "undici";
import { createPublicAgents, type PublicWebOptions } from "./agents.ts";
import { beginningOf } from "./beginningOf.ts";
import type { PictureSource } from "./pictureSource.ts";

/** All of it: names, connection and bytes. */
const usualTimeoutMs = 5_000;

/** Over HTTP with GET, to the public internet alone. A redirect counts as not there. */
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
