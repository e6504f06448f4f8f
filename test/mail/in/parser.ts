import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createMailParser, type ParsedMail } from "#src/mail/in/parse.ts";
import type { ParseLimits } from "#src/mail/in/parsedMail.ts";
import { createThreadPool, type ThreadLimits, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";

/** Does what the bytes say (obedientThread.mjs), in the place of the thread that reads mail. */
export const obedientThread = fileURLToPath(new URL("../../platform/threadPool/obedientThread.mjs", import.meta.url));

/** Reads mail in a thread that has much to give back (untidyThread.mjs), and answers how much heap it keeps. */
export const untidyThread = fileURLToPath(new URL("../../platform/threadPool/untidyThread.mjs", import.meta.url));

/** A mail that has it do something. `size`: in bytes at least. */
export const order = (what: { sleepMs?: number; allocate?: boolean; answer?: unknown }, size = 0): Buffer =>
  Buffer.from(JSON.stringify(what).padEnd(size));

export type TestParser = {
  pool: ThreadPool;
  parse(raw: Buffer, turn?: string): Promise<ParsedMail>;
  close(): Promise<void>;
};

/** A parser with threads of its own. It has time: a busy machine says nothing about a mail. */
export function startParser(limits: Partial<ThreadLimits & ParseLimits & { entry: string }> = {}): TestParser {
  const pool = createThreadPool({ firstTryMs: 10_000, slowMs: 30_000, ...limits });
  const parser = createMailParser(pool, limits);
  return {
    pool,
    parse: (raw, turn = "somebody") =>
      parser.parse(raw, { turn, sha256: createHash("sha256").update(raw).digest("hex") }),
    close: () => pool.close(),
  };
}
