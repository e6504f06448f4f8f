import { LRUCache } from "lru-cache";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import type { ParsedMail } from "./parsedMail.ts";

/** Cache of parsed mails by the hash of their bytes and how they were read: a mail to many recipients is parsed once. */
export type ParsedMailCache = {
  /** Returns the cached or pending result for these bytes, read in the same way; otherwise calls `read`. */
  of(key: string, read: () => Promise<ParsedMail>): Promise<ParsedMail>;
};

/** Milliseconds a result is kept: the recipients of one mail are served right after each other. */
const keptMs = 15_000;
/** Maximum number of bytes kept in all: enough for one of the largest mails. */
const maxBytes = 40 * 1024 * 1024;

export function createParsedMailCache(): ParsedMailCache {
  const readings = createSingleFlight<ParsedMail>();
  const kept = new LRUCache<string, ParsedMail>({
    maxSize: maxBytes,
    sizeCalculation: bytesOf,
    ttl: keptMs,
    // Frees the memory on an instance that receives no more mail.
    ttlAutopurge: true,
  });

  return {
    of: async (key, read) =>
      kept.get(key) ??
      readings.run(key, async () => {
        const mail = await read();
        kept.set(key, mail);
        return mail;
      }),
  };
}

const bytesOf = ({ bodyText, bodyHtml, extractedText, attachments }: ParsedMail): number =>
  [bodyText, bodyHtml, extractedText].reduce((sum, text) => sum + 2 * (text?.length ?? 0), 1024) +
  attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
