/** What keeps a body from being parsed: in which field of the outermost object (empty if there is none), and a sentence about it. */
export type StructureFault = { field: string; sentence: string };

const maxDepth = 32;
const maxValues = 20_000;
/** Bytes of a field's name that are remembered. */
const maxName = 256;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const whitespace = [0x20, 0x0a, 0x0d, 0x09];
const openBrace = 0x7b;
const opening = [openBrace, 0x5b];
const closing = [0x7d, 0x5d];

/**
 * Looks how deep JSON is nested and how many values it has, chunk by chunk and without parsing it: what costs memory and time to parse is found
 * before that. It takes any bytes; whether they are JSON is for the parser to say.
 */
export class StructureScan {
  /** The first fault so far: nothing behind it is looked at. */
  fault: StructureFault | undefined;
  #inString = false;
  #escaped = false;
  #depth = 0;
  #values = 1;
  /** A bracket was opened, and what it holds has not begun. */
  #justOpened = false;
  #outermostIsObject = false;
  /** The last string directly inside the outermost value, as it is written: in an object the name of the field that is being read. */
  #name: number[] = [];

  take(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && this.fault === undefined) {
      if (this.#inString) at = this.#endOfString(chunk, at);
      else this.#outside(chunk[at++]!);
    }
  }

  /** Where the string that `at` lies in is over, or the chunk. */
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
