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
  const underWay = new Map<string, Promise<ParsedMail>>();
  const kept = new Map<string, { mail: ParsedMail; bytes: number; timer: NodeJS.Timeout }>();
  let total = 0;

  function drop(sha256: string): void {
    const reading = kept.get(sha256);
    if (!reading) return;
    clearTimeout(reading.timer);
    kept.delete(sha256);
    total -= reading.bytes;
  }

  function keep(sha256: string, mail: ParsedMail): void {
    const bytes = bytesOf(mail);
    if (bytes > maxBytes) return;
    total += bytes;
    kept.set(sha256, { mail, bytes, timer: setTimeout(() => drop(sha256), keptMs).unref() });
    for (const oldest of kept.keys()) {
      if (total <= maxBytes) return;
      drop(oldest);
    }
  }

  return {
    of(sha256, read) {
      const known = kept.get(sha256)?.mail;
      const reading = known ? Promise.resolve(known) : underWay.get(sha256);
      if (reading) return reading;
      const begun = read()
        .then((mail) => {
          keep(sha256, mail);
          return mail;
        })
        .finally(() => underWay.delete(sha256));
      underWay.set(sha256, begun);
      return begun;
    },
  };
}

const bytesOf = ({ bodyText, bodyHtml, extractedText, attachments }: ParsedMail): number =>
  [bodyText, bodyHtml, extractedText].reduce((sum, text) => sum + 2 * (text?.length ?? 0), 1024) +
  attachments.reduce((sum, { bytes }) => sum + bytes.length, 0);
