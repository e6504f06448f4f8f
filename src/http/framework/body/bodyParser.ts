import { fileURLToPath } from "node:url";
import { FixedQueue, Piscina } from "piscina";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { type DecodedFile, EncodedFile, type FilePath } from "./encodedFile.ts";
import { parseJson } from "./parseJson.ts";
import type { Parsed } from "./parserThread.ts";
import { atOnceBytes } from "./readBody.ts";

/** Parses JSON bodies and decodes the strings at `files`. Throws invalid_request naming the field, and Unavailable. */
export type BodyParser = {
  parse(blocks: Uint8Array<ArrayBuffer>[], files: readonly FilePath[]): Promise<unknown>;
  /** Ends the thread; bodies being parsed throw Unavailable. */
  close(): Promise<void>;
};

/** The worker's file. It loads parserThread.ts and exports that file's `parseInThread`. */
const entry = fileURLToPath(new URL("./parserWorker.mjs", import.meta.url));

/** Milliseconds in which a body must be parsed, including its time in the queue. */
const timeoutMs = 15_000;
/** Heap limit in megabytes for a body's text and what is parsed from it; `youngMb`: additional, for new objects. */
const maxHeapMb = 256;
const youngMb = 12;

/** Parses small bodies at once, larger ones in a worker thread that is started with the first of them. */
export function createBodyParser(): BodyParser {
  let pool: Piscina | undefined;

  function start(): Piscina {
    const started = new Piscina({
      filename: entry,
      name: "parseInThread",
      // At least one: a thread that died is replaced at once, even if no body follows.
      minThreads: 1,
      maxThreads: 1,
      execArgv: [],
      recordTiming: false,
      taskQueue: new FixedQueue(),
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: youngMb },
    });
    // A thread could not be started. Bodies queued for this pool would wait forever, so destroy it; the next body starts a new pool.
    return started.on("error", () => {
      if (pool === started) pool = undefined;
      void started.destroy();
    });
  }

  async function parseElsewhere(blocks: Uint8Array<ArrayBuffer>[], files: readonly FilePath[]): Promise<unknown> {
    pool ??= start();
    const transferList = blocks.map(({ buffer }) => buffer);
    const signal = AbortSignal.timeout(timeoutMs);
    const parsed: Parsed = await pool.run({ blocks, files }, { transferList, signal }).catch((error: Error) => {
      throw new Unavailable("the request body could not be parsed in time", { cause: error });
    });
    if ("refused" in parsed) throw new Rejected("invalid_request", parsed.refused.message, parsed.refused.details);
    for (const { holder, name, encodedLength, decoded } of parsed.files) {
      holder[name] = new EncodedFile(encodedLength, decoded && withBuffer(decoded));
    }
    return parsed.body;
  }

  return {
    async parse(blocks, files) {
      const size = blocks.reduce((sum, { length }) => sum + length, 0);
      return size <= atOnceBytes ? parseJson(Buffer.concat(blocks), files) : parseElsewhere(blocks, files);
    },
    async close() {
      await pool?.destroy();
    },
  };
}

/** Restores a Buffer: a thread receives it as a plain Uint8Array. */
const withBuffer = ({ bytes, sha256 }: DecodedFile): DecodedFile => ({
  bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  sha256,
});
