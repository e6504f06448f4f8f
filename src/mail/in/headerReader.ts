import { createHash, webcrypto } from "node:crypto";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { startOfBody } from "./headerFields.ts";
import { hurriedStartOf, type MailStart, readMailStart, startOf, withDigest } from "./headers.ts";
import type { ReaderPool } from "./readerPool.ts";

export type HeaderReader = {
  /**
   * What a received mail says about itself (headers.ts). Never fails because of what a mail contains, and takes a second at most: its sender
   * waits for the answer. `rawSha256`: of the bytes. `turn`: one of the identities it is for.
   */
  read(raw: Buffer, about: { rawSha256: string; envelopeFrom: string; turn: string }): Promise<MailHeaders>;
};

/** Milliseconds until the header of a mail is read here, in a hurry, because no thread had time. */
const usualPatienceMs = 500;

/** Bodies above this are hashed outside the main thread. */
const largeBytes = 1024 * 1024;

/** Reads headers in the threads of a pool; where none has time, as much of them as takes a few milliseconds. */
export function createHeaderReader(
  pool: Pick<ReaderPool, "run">,
  { patienceMs = usualPatienceMs }: { patienceMs?: number } = {},
): HeaderReader {
  async function startRead(raw: Buffer, { envelopeFrom, turn }: { envelopeFrom: string; turn: string }) {
    const tooLate = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        tooLate.abort();
        resolve(undefined);
      }, patienceMs);
    });
    const job = { name: "headers", bytes: startOf(raw), envelopeFrom } as const;
    // Whatever is wrong with the threads: a mail is not refused for it.
    const read = pool.run<MailStart>(job, { turn, urgent: true, signal: tooLate.signal }).catch(() => undefined);
    const start = await Promise.race([read, late]).finally(() => clearTimeout(timer));
    if (start) return start;
    const hurried = hurriedStartOf(raw);
    return readMailStart(hurried.start, envelopeFrom, hurried.isCut);
  }

  return {
    async read(raw, { rawSha256, ...how }) {
      const start = await startRead(raw, how);
      return withDigest(start, { rawSha256, digest: await digestOf(start.told, raw.subarray(startOfBody(raw))) });
    },
  };
}

async function digestOf(told: string, body: Buffer): Promise<string> {
  if (body.length <= largeBytes) return createHash("sha256").update(told).update(body).digest("hex");
  const bytes = await webcrypto.subtle.digest("SHA-256", Buffer.concat([Buffer.from(told), body]));
  return Buffer.from(bytes).toString("hex");
}
