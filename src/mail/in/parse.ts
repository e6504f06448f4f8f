import { Worker } from "node:worker_threads";
import { type ParsedMail, type ParseLimits, unreadableMail } from "./parsedMail.ts";

export type { ParsedAttachment, ParsedMail } from "./parsedMail.ts";

export type MailParser = {
  /**
   * Never fails because of what a mail contains: then `unreadable` says why. Rejects where no worker can be started, or after
   * `close`: then nothing is known of the mail.
   */
  parse(raw: Buffer): Promise<ParsedMail>;
  /** Ends the workers; what is under way rejects. */
  close(): Promise<void>;
};

export type MailParserOptions = Partial<ParseLimits> & {
  /** Threads, each started when first needed (default 2). */
  workers?: number;
  /** Milliseconds a mail may take (default 15,000). */
  timeoutMs?: number;
  /** Megabytes of heap a mail may take, its own bytes not counted (default 256). */
  maxHeapMb?: number;
};

type Job = { raw: Buffer; resolve(mail: ParsedMail): void; reject(error: Error): void };

const entry = new URL("./parserWorker.mjs", import.meta.url);

/** Parses mail in threads with limits of time and memory; a thread that hangs or dies costs the mail it held and is replaced. */
export function createMailParser(options: MailParserOptions = {}): MailParser {
  const { workers = 2, timeoutMs = 15_000, maxHeapMb = 256 } = options;
  const { maxHtmlBytes = 1024 * 1024, maxTextBytes = 1024 * 1024, maxAttachments = 100 } = options;
  const waiting: Job[] = [];
  const running = new Set<Promise<void>>();
  const idle: Worker[] = [];
  const alive = new Set<Worker>();
  let closed = false;

  async function start(): Promise<Worker> {
    const worker = new Worker(entry, {
      workerData: { maxHtmlBytes, maxTextBytes, maxAttachments } satisfies ParseLimits,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    alive.add(worker);
    worker.once("exit", () => forget(worker));
    // One that nobody waits for is still told by "exit"; without a listener it would end the process.
    worker.on("error", () => {});
    try {
      await answer(worker);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return worker;
  }

  function forget(worker: Worker): void {
    alive.delete(worker);
    const at = idle.indexOf(worker);
    if (at >= 0) idle.splice(at, 1);
  }

  async function run(job: Job): Promise<void> {
    try {
      const worker = idle.pop() ?? (await start());
      const mail = await read(worker, job.raw);
      // Whoever closes ends the worker: that says nothing about the mail.
      if (closed) throw closedError();
      if (alive.has(worker)) idle.push(worker);
      job.resolve(mail);
    } catch (error) {
      job.reject(closed ? closedError() : (error as Error));
    }
  }

  async function read(worker: Worker, raw: Buffer): Promise<ParsedMail> {
    const copy = new Uint8Array(raw);
    const reading = answer(worker, timeoutMs);
    worker.postMessage(copy, [copy.buffer]);
    try {
      const mail = (await reading) as ParsedMail;
      return { ...mail, attachments: mail.attachments.map(withBuffer) };
    } catch (error) {
      forget(worker);
      await worker.terminate();
      return unreadableMail((error as Error).message);
    }
  }

  function next(): void {
    while (waiting.length > 0 && running.size < workers) {
      const turn = run(waiting.shift()!).finally(() => {
        running.delete(turn);
        next();
      });
      running.add(turn);
    }
  }

  return {
    parse: (raw) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(closedError());
        waiting.push({ raw, resolve, reject });
        next();
      }),
    async close() {
      closed = true;
      for (const job of waiting.splice(0)) job.reject(closedError());
      await Promise.all([...alive].map((worker) => worker.terminate()));
      await Promise.all(running);
    },
  };
}

const closedError = (): Error => new Error("the mail parser is closed");

/** Across threads a Buffer arrives as a plain Uint8Array. */
const withBuffer = <T extends { bytes: Uint8Array }>(attachment: T): T & { bytes: Buffer } => {
  const { buffer, byteOffset, byteLength } = attachment.bytes;
  return { ...attachment, bytes: Buffer.from(buffer, byteOffset, byteLength) };
};

/** The worker's next message; rejects with a sentence where none comes. */
function answer(worker: Worker, timeoutMs = 60_000): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new Error(`parsing took more than ${timeoutMs} ms`))),
      timeoutMs,
    );
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onError = (error: NodeJS.ErrnoException) =>
      settle(() =>
        reject(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? new Error("parsing took too much memory") : error),
      );
    const onExit = () => settle(() => reject(new Error("the parser crashed")));
    function settle(outcome: () => void): void {
      clearTimeout(timer);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      outcome();
    }
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  });
}
