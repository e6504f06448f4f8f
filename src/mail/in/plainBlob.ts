/**
 * In place of Node's Blob, for the thread that parses mail. The parser makes one of the lines of each body that is not encoded, two parts a
 * line, and reads it back at once. Node's copies each part into a buffer of its own: 1 MB of empty lines took seconds and hundreds of
 * megabytes. This one copies them into one.
 */
export class PlainBlob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(parts: readonly (Uint8Array | ArrayBuffer | string)[] = []) {
    const size = parts.reduce<number>((sum, part) => sum + sizeOf(part), 0);
    this.#bytes = new Uint8Array(size);
    const buffer = Buffer.from(this.#bytes.buffer);
    let at = 0;
    for (const part of parts) {
      if (typeof part === "string") buffer.write(part, at);
      else this.#bytes.set(part instanceof ArrayBuffer ? new Uint8Array(part) : part, at);
      at += sizeOf(part);
    }
  }

  get size(): number {
    return this.#bytes.length;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.buffer;
  }
}

const sizeOf = (part: Uint8Array | ArrayBuffer | string): number =>
  typeof part === "string" ? Buffer.byteLength(part) : part.byteLength;
