import { fileURLToPath } from "node:url";
import { FixedQueue, Piscina } from "piscina";
import { type ParsedMail, type ParseLimits, unreadableMail } from "./parsedMail.ts";

export type { ParsedAttachment, ParsedMail } from "./parsedMail.ts";

export type MailParser = {
  /**
   * Never fails because of what a mail contains: then `unreadable` says why. Rejects if no worker can be started, or after
   * `close`: then nothing is known of the mail.
   */
  parse(raw: Buffer): Promise<ParsedMail>;
  /** Ends the workers; what is under way rejects. */
  close(): Promise<void>;
};

export type MailParserOptions = Partial<ParseLimits> & {
  /** Threads, started with the first mail (default 2). */
  workers?: number;
  /** Milliseconds a mail may take (default 15,000). */
  timeoutMs?: number;
  /** Megabytes of heap a mail may take, its own bytes not counted (default 256). */
  maxHeapMb?: number;
};

/** It, and parserThread.ts behind it, export `parseInThread`. */
const entry = fileURLToPath(new URL("./parserWorker.mjs", import.meta.url));

/** Parses mail in threads with limits of time and memory; a thread that hangs or dies costs the mail it held and is replaced. */
export function createMailParser(options: MailParserOptions = {}): MailParser {
  const { workers = 2, timeoutMs = 15_000, maxHeapMb = 256 } = options;
  const { maxHtmlBytes = 1024 * 1024, maxTextBytes = 1024 * 1024, maxAttachments = 100 } = options;
  let pool: Piscina | undefined;
  let closed = false;
  let jobs = 0;
  /** By job, what happens when a thread begins it. */
  const begins = new Map<number, () => void>();

  function start(): Piscina {
    const started = new Piscina({
      filename: entry,
      name: "parseInThread",
      // As many at least as at most: a thread that died is replaced at once, also when no further mail comes.
      minThreads: workers,
      maxThreads: workers,
      workerData: { maxHtmlBytes, maxTextBytes, maxAttachments } satisfies ParseLimits,
      execArgv: [],
      recordTiming: false,
      taskQueue: new FixedQueue(),
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    started.on("message", (job: number) => begins.get(job)?.());
    // A thread could not be started. Mail that waits for it would wait forever; the next mail starts a new one.
    return started.on("error", () => {
      if (pool === started) pool = undefined;
      void started.destroy();
    });
  }

  async function read(raw: Buffer): Promise<ParsedMail> {
    pool ??= start();
    const job = ++jobs;
    const tooLate = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // Neither the time in the queue nor the start of a thread is the mail's.
    begins.set(job, () => {
      timer = setTimeout(() => tooLate.abort(), timeoutMs);
    });
    try {
      const bytes = new Uint8Array(raw);
      const transferList = [bytes.buffer];
      const mail: ParsedMail = await pool.run({ bytes, job }, { transferList, signal: tooLate.signal });
      return { ...mail, attachments: mail.attachments.map(withBuffer) };
    } catch (error) {
      const reason = tooLate.signal.aborted ? `parsing took more than ${timeoutMs} ms` : faultOf(error as Error);
      if (timer === undefined || reason === undefined) throw error;
      return unreadableMail(reason);
    } finally {
      clearTimeout(timer);
      begins.delete(job);
    }
  }

  return {
    async parse(raw) {
      // Closing ends the thread: that says nothing about the mail.
      const orClosed = (error?: unknown): never => {
        throw closed ? new Error("the mail parser is closed") : error;
      };
      return closed ? orClosed() : read(raw).then((mail) => (closed ? orClosed() : mail), orClosed);
    },
    async close() {
      closed = true;
      await pool?.destroy();
    },
  };
}

/** What the mail did to its thread, or how reading it failed; undefined if the thread was ended by us. */
function faultOf(error: NodeJS.ErrnoException): string | undefined {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return "parsing took too much memory";
  if (error.message.startsWith("worker exited")) return "the parser crashed";
  return error.message === "Terminating worker thread" ? undefined : error.message;
}

/** Across threads a Buffer arrives as a plain Uint8Array. */
const withBuffer = <T extends { bytes: Uint8Array }>(attachment: T): T & { bytes: Buffer } => {
  const { buffer, byteOffset, byteLength } = attachment.bytes;
  return { ...attachment, bytes: Buffer.from(buffer, byteOffset, byteLength) };
};
