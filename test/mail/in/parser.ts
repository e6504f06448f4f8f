import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createMailParser, type ParsedMail } from "#src/mail/in/parse.ts";
import type { ParseLimits } from "#src/mail/in/parsedMail.ts";
import { createThreadPool, type ThreadLimits, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";

/** A thread that executes the order in the bytes (obedientThread.mjs), in place of the one that reads mail. */
export const obedientThread = fileURLToPath(new URL("../../platform/threadPool/obedientThread.mjs", import.meta.url));

/** A thread that allocates much (untidyThread.mjs), reads mail, and returns how much heap it keeps. */
export const untidyThread = fileURLToPath(new URL("../../platform/threadPool/untidyThread.mjs", import.meta.url));

/** Makes a mail with an order for obedientThread. `size`: the least number of bytes. */
export const order = (what: { sleepMs?: number; allocate?: boolean; answer?: unknown }, size = 0): Buffer =>
  Buffer.from(JSON.stringify(what).padEnd(size));

export type TestParser = {
  pool: ThreadPool;
  parse(raw: Buffer, turn?: string): Promise<ParsedMail>;
  close(): Promise<void>;
};

/** Starts a parser with separate threads and long limits, for busy machines. */
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
