import { TaskFault } from "#src/platform/threadPool/faults.ts";
import type { ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { ComposedBodies } from "../out/bodies.ts";
import type { CopyBodies } from "./copies.ts";
import { type ParsedMail, type ParseLimits, unreadableMail } from "./parsedMail.ts";
import { createParsedMailCache } from "./parsedMailCache.ts";
import type { BesideLines } from "./text/besideLines.ts";

export type { ParsedAttachment, ParsedMail } from "./parsedMail.ts";

export type MailParser = {
  /**
   * Never fails because of a mail's content: `unreadable` then says why. Rejects with ThreadsAway if no thread can be started, or after
   * the pool was closed: then nothing is known about the mail. `turn`: the identity that the mail is for. `sha256`: hash of the mail's
   * bytes; concurrent requests for the same bytes share one parse. `writer`: the name of the writer of the mail that this one answers; it
   * matters only if a parse without it returns this name.
   */
  parse(raw: Buffer, about: { turn: string; sha256: string; writer?: string }): Promise<ParsedMail>;
  /**
   * Compares a mail that came under a Message-ID of ours with what was sent (copies.ts); null also if that takes too long. Rejects as
   * `parse` does.
   */
  linesBesideOurs(
    compared: { sent: ComposedBodies; came: CopyBodies },
    about: { turn: string },
  ): Promise<BesideLines[] | null>;
};

/** Parses mail in the threads of a pool, which limits time and memory. */
export function createMailParser(pool: Pick<ThreadPool, "run">, limits: Partial<ParseLimits> = {}): MailParser {
  const { maxHtmlBytes = 1024 * 1024, maxTextBytes = 1024 * 1024, maxAttachments = 100 } = limits;
  const recent = createParsedMailCache();

  async function read(
    raw: Buffer,
    { turn, writer }: { turn: string; writer?: string | undefined },
  ): Promise<ParsedMail> {
    const job = { name: "parse", bytes: raw, limits: { maxHtmlBytes, maxTextBytes, maxAttachments }, writer } as const;
    try {
      const mail = await pool.run<ParsedMail>(job, { turn });
      return { ...mail, attachments: mail.attachments.map(withBuffer) };
    } catch (error) {
      if (error instanceof TaskFault) return unreadableMail(`reading ${error.message}`);
      throw error;
    }
  }

  return {
    parse: (raw, { turn, sha256, writer }) =>
      recent.of(writer === undefined ? sha256 : `${sha256} ${writer}`, () => read(raw, { turn, writer })),
    linesBesideOurs: ({ sent, came }, { turn }) => {
      const { bodyText, bodyHtml } = came;
      const job = { name: "copy", bytes: noBytes, compared: { sent, came: { bodyText, bodyHtml } } } as const;
      return pool.run<BesideLines[] | null>(job, { turn }).catch((error: unknown) => {
        if (error instanceof TaskFault) return null;
        throw error;
      });
    },
  };
}

const noBytes = new Uint8Array();

/** A Buffer from another thread arrives as a plain Uint8Array. */
const withBuffer = <T extends { bytes: Uint8Array }>(attachment: T): T & { bytes: Buffer } => {
  const { buffer, byteOffset, byteLength } = attachment.bytes;
  return { ...attachment, bytes: Buffer.from(buffer, byteOffset, byteLength) };
};
