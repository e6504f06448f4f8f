import { createHash, type Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";
import { isEnded } from "../connectionRefusals.ts";
import { invalid } from "../errors.ts";
import { createEventLoopTurns } from "../eventLoopTurns.ts";
import { watchBodyPace } from "./pace.ts";
import { pathTo } from "./parseJson.ts";
import { type StructureFault, StructureScan } from "./structure.ts";
import type { Upload } from "./uploads.ts";

/** Maximum number of bytes that the main thread parses, decodes or hashes at once. */
export const atOnceBytes = 256 * 1024;

/**
 * Maximum number of chunks that are stored before they are joined. Unjoined, a body that arrives byte by byte would use some hundred times
 * its size.
 */
const mostChunks = 1_000;

/** A request body as received. */
export type BodyRead = {
  /** Bytes. */
  size: number;
  /** The bytes in order, each block with its own memory; empty if there is a fault. */
  blocks: Uint8Array<ArrayBuffer>[];
  fault: StructureFault | undefined;
  /** SHA-256 of `hashed` followed by all bytes of the body. */
  hash: Buffer;
};

/**
 * Reads a request's body in chunks, checks its structure and hashes it meanwhile; a body with a fault is not kept. Above `limit` (bytes) it
 * throws payload_too_large at once and discards the rest, so that a client that is still writing can read the answer; the server's request
 * timeout bounds that. Throws unavailable if `upload` has no room. If no data arrives for `paceMs` (milliseconds), the request is refused
 * on its connection.
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
    // The request was refused with 408: even if the rest arrives after all, it must have no effect.
    if (isEnded(request.socket)) throw endedEarly();
  } catch (error) {
    upload.giveBack();
    // Many clients may disconnect at the same moment: handle them over several turns of the event loop.
    await new Promise<void>(inTurn);
    throw error instanceof Rejected ? error : endedEarly();
  } finally {
    unwatch();
    request.resume();
  }
  return collected.all();
}

const inTurn = createEventLoopTurns();

const endedEarly = (): Rejected => invalid("", "the request body ended early: send it in full");

/** Throws invalid_request if the body has a fault in its structure. */
export function requireSoundStructure({ fault }: BodyRead): void {
  if (fault) throw invalid(fault.field === "" ? "body" : pathTo("", fault.field), fault.sentence);
}

/** Joins chunks into blocks, so that neither many small chunks nor one long copy is expensive. */
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
