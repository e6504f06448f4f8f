import { LRUCache } from "lru-cache";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import type { ParsedMail } from "./parsedMail.ts";

/** What was read of mails a moment ago, by the hash of their bytes: one that came for many recipients is read once. */
export type RecentReadings = {
  /** What is known of these bytes or is being read; else what `read` answers. */
  of(sha256: string, read: () => Promise<ParsedMail>): Promise<ParsedMail>;
};

/** Milliseconds: the recipients of one mail are served one right after the other. */
const keptMs = 15_000;
/** Of what is kept when it is read, together: one of the largest mails. */
const maxBytes = 40 * 1024 * 1024;

export function createRecentReadings(): RecentReadings {
  const readings = createSingleFlight<ParsedMail>();
  const kept = new LRUCache<string, ParsedMail>({
    maxSize: maxBytes,
    sizeCalculation: bytesOf,
    ttl: keptMs,
    // An instance that receives nothing more gives the memory back.
    ttlAutopurge: true,
  });

  return {
    of: async (sha256, read) =>
      kept.get(sha256) ??
      readings.run(sha256, async () => {
        const mail = await read();
        kept.set(sha256, mail);
        return mail;
      }),
  };
}

const bytesOf = ({ bodyText, bodyHtml, extractedText, attachments }: ParsedMail): number =>
  [bodyText, bodyHtml, extractedText].reduce((sum, text) => sum + 2 * (text?.length ?? 0), 1024) +
  attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
