/** A reason not to parse a body: the field of the outermost object ("" if there is none), and a sentence. */
export type StructureFault = { field: string; sentence: string };

const maxDepth = 32;
const maxValues = 20_000;
/** Bytes kept of a field's name. */
const maxName = 256;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const whitespace = [0x20, 0x0a, 0x0d, 0x09];
const openBrace = 0x7b;
const opening = [openBrace, 0x5b];
const closing = [0x7d, 0x5d];

/**
 * Measures the depth and number of values of JSON in chunks, without parsing it, so that a body too expensive to parse is found first. It
 * accepts any bytes; the parser decides whether they are JSON.
 */
export class StructureScan {
  /** The first fault found; scanning stops there. */
  fault: StructureFault | undefined;
  #inString = false;
  #escaped = false;
  #depth = 0;
  #values = 1;
  /** True after an opening bracket until its first element begins. */
  #justOpened = false;
  #outermostIsObject = false;
  /** Bytes of the last string directly in the outermost value: if that is an object, the name of the current field. */
  #name: number[] = [];

  take(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && this.fault === undefined) {
      if (this.#inString) at = this.#endOfString(chunk, at);
      else this.#outside(chunk[at++]!);
    }
  }

  /** The index at which the string containing `at` ends, or the end of the chunk. */
  #endOfString(chunk: Uint8Array, begin: number): number {
    let at = begin;
    while (at < chunk.length && (this.#escaped || chunk[at] !== quote)) {
      this.#escaped = !this.#escaped && chunk[at] === backslash;
      at++;
    }
    if (this.#depth === 1) this.#name.push(...chunk.subarray(begin, Math.min(at, begin + maxName - this.#name.length)));
    this.#inString = at === chunk.length;
    return at + 1;
  }

  #outside(byte: number): void {
    if (whitespace.includes(byte)) return;
    if (closing.includes(byte)) {
      this.#justOpened = false;
      this.#depth--;
      return;
    }
    if (this.#justOpened || byte === comma) this.#count();
    this.#justOpened = false;
    if (byte === quote) {
      this.#inString = true;
      if (this.#depth === 1) this.#name = [];
    }
    if (opening.includes(byte)) this.#open(byte);
  }

  #open(byte: number): void {
    if (this.#depth === 0) this.#outermostIsObject = byte === openBrace;
    this.#justOpened = true;
    if (++this.#depth > maxDepth) this.#refuse(`expected JSON nested at most ${maxDepth} levels deep`);
  }

  #count(): void {
    if (++this.#values > maxValues) this.#refuse(`expected a body of at most ${maxValues} JSON values`);
  }

  #refuse(sentence: string): void {
    this.fault ??= { field: this.#outermostIsObject ? this.#fieldName() : "", sentence };
  }

  #fieldName(): string {
    try {
      return JSON.parse(`"${Buffer.from(this.#name).toString("utf8")}"`);
    } catch {
      return "";
    }
  }
}
