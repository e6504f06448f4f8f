import { createHash, type Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";
import { invalid } from "../errors.ts";
import { isEnded } from "../refusal.ts";
import { createTurns } from "../turns.ts";
import { watchBodyPace } from "./pace.ts";
import { pathTo } from "./parseJson.ts";
import { type StructureFault, StructureScan } from "./structure.ts";
import type { Upload } from "./uploads.ts";

/** Bytes that this thread parses, decodes or hashes at once, at most. */
export const atOnceBytes = 256 * 1024;

/** Chunks that wait to be put together: a body that comes byte by byte would take some hundred times its size. */
const mostChunks = 1_000;

/** A body as it came. */
export type BodyRead = {
  /** Bytes. */
  size: number;
  /** Its bytes in order, each of them memory of its own; none where a fault was found. */
  blocks: Uint8Array<ArrayBuffer>[];
  fault: StructureFault | undefined;
  /** Of what `hashed` began with and all bytes, sha256. */
  hash: Buffer;
};

/**
 * Reads a request's body chunk by chunk, looking at its structure and hashing it on the way; what has a fault is not kept. Over `limit` (bytes) it
 * throws payload_too_large at once and lets the rest run into the void, so that a client that is still writing gets to read the answer; the
 * server's request timeout bounds that. Throws unavailable when there is no room for it in `upload`. A body that stops coming for `paceMs`
 * (milliseconds) is refused on its connection.
 */
export async function readBody(
  request: IncomingMessage,
  { limit, upload, hashed, paceMs }: { limit: number; upload: Upload; hashed: string; paceMs: number },
): Promise<BodyRead> {
  const tooLarge = () =>
    new Rejected("payload_too_large", `the request body is too large: expected at most ${limit} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const collected = new Collected(upload, createHash("sha256").update(hashed));
  const unwatch = watchBodyPace(request, { paceMs, received: () => collected.size });
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      collected.add(chunk);
      if (collected.size > limit) throw tooLarge();
      if (isEnded(request.socket)) break;
    }
    // It was refused as late: the rest that came after all may not make it happen.
    if (isEnded(request.socket)) throw endedEarly();
  } catch (error) {
    upload.giveBack();
    // Many clients may go at the same moment.
    await new Promise<void>(inTurn);
    throw error instanceof Rejected ? error : endedEarly();
  } finally {
    unwatch();
    request.resume();
  }
  return collected.all();
}

const inTurn = createTurns();

const endedEarly = (): Rejected => invalid("", "the request body ended early: send it in full");

/** Throws invalid_request if a fault keeps the body from being parsed. */
export function requireSoundStructure({ fault }: BodyRead): void {
  if (fault) throw invalid(fault.field === "" ? "body" : pathTo("", fault.field), fault.sentence);
}

/** Puts chunks together in blocks, so that neither many small chunks nor one long copy costs much. */
class Collected {
  size = 0;
  readonly #scan = new StructureScan();
  readonly #upload: Upload;
  readonly #hash: Hash;
  #blocks: Uint8Array<ArrayBuffer>[] = [];
  #chunks: Buffer[] = [];
  #waiting = 0;

  constructor(upload: Upload, hash: Hash) {
    this.#upload = upload;
    this.#hash = hash;
  }

  add(chunk: Buffer): void {
    this.size += chunk.length;
    this.#hash.update(chunk);
    if (this.#scan.fault) return;
    this.#scan.take(chunk);
    if (this.#scan.fault) this.#drop();
    else this.#keep(chunk);
  }

  #keep(chunk: Buffer): void {
    this.#upload.take(chunk.length);
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    if (this.#waiting >= atOnceBytes || this.#chunks.length >= mostChunks) this.#join();
  }

  all(): BodyRead {
    if (this.#waiting > 0) this.#join();
    return { size: this.size, blocks: this.#blocks, fault: this.#scan.fault, hash: this.#hash.digest() };
  }

  #join(): void {
    const block = new Uint8Array(this.#waiting);
    let at = 0;
    for (const chunk of this.#chunks) {
      block.set(chunk, at);
      at += chunk.length;
    }
    this.#blocks.push(block);
    this.#chunks = [];
    this.#waiting = 0;
  }

  #drop(): void {
    this.#blocks = [];
    this.#chunks = [];
    this.#waiting = 0;
    this.#upload.giveBack();
  }
}
