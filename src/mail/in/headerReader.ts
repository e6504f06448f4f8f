import { createHash, webcrypto } from "node:crypto";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { readMailStart, withDigest } from "./headers.ts";
import type { IsOwnId } from "./messageIds.ts";

export type HeaderReader = {
  /**
   * Reads the header facts of a received mail (headers.ts). Never fails because of the mail's content, and gives the same result for the
   * same bytes at any load. `rawSha256`: sha256 of the bytes.
   */
  read(raw: Buffer, about: { rawSha256: string; envelopeFrom: string }): Promise<MailHeaders>;
};

/** Bodies larger than this many bytes are hashed outside the main thread. */
const largeBytes = 1024 * 1024;

/**
 * Reads headers synchronously on the main thread, which takes milliseconds. Only large bodies are hashed elsewhere. `isOwn` tells
 * this service's Message-IDs.
 */
export const createHeaderReader = (isOwn: IsOwnId): HeaderReader => ({
  async read(raw, { rawSha256, envelopeFrom }) {
    const start = readMailStart(raw, envelopeFrom, isOwn);
    return withDigest(start, { rawSha256, digest: await digestOf(start.told, start.body) });
  },
});

async function digestOf(told: string, body: Buffer): Promise<string> {
  if (body.length <= largeBytes) return createHash("sha256").update(told).update(body).digest("hex");
  const bytes = await webcrypto.subtle.digest("SHA-256", Buffer.concat([Buffer.from(told), body]));
  return Buffer.from(bytes).toString("hex");
}
