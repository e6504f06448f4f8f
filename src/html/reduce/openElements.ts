import { blockElements, cells, headings, maxDepth, tableFrames, tableParts } from "./names.ts";
import type { CellStyle } from "./presentation.ts";
import type { PlacedLook } from "./styles.ts";
import type { Writer } from "./writer.ts";

/** The body is nested deeper than the limit. */
export class TooDeep extends Error {}

/** An open element. `out`: its name in the reduced form; null if it is unwrapped or removed with its content (`drops`). */
export type OpenElement = {
  name: string;
  out: string | null;
  drops: boolean;
  look: PlacedLook;
  cells: CellStyle | null;
};

/** The open elements, the innermost last, closed where a browser would close them. */
export class OpenElements {
  readonly #stack: OpenElement[] = [];
  readonly #writer: Writer;
  /** Index of the outermost element that is removed with its content; -1 if there is none. */
  #dropsFrom = -1;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** True if the current content is removed together with its element. */
  get dropping(): boolean {
    return this.#dropsFrom >= 0;
  }

  get top(): OpenElement | undefined {
    return this.#stack.at(-1);
  }

  /** The innermost element that is written. */
  get around(): OpenElement | undefined {
    return this.#stack.findLast(({ out }) => out !== null);
  }

  /** The cell styles from the innermost table. */
  get cellStyle(): CellStyle | null {
    return this.#stack.findLast(({ out }) => out === "table")?.cells ?? null;
  }

  has(out: string): boolean {
    return this.#stack.some((one) => one.out === out);
  }

  push(open: OpenElement): void {
    this.#stack.push(open);
    if (open.drops && this.#dropsFrom < 0) this.#dropsFrom = this.#stack.length - 1;
    if (this.#stack.length > maxDepth) throw new TooDeep();
  }

  /** Closes the innermost elements until this many are left. */
  shrink(length: number): void {
    while (this.#stack.length > length) {
      const one = this.#stack.pop() as OpenElement;
      if (this.#stack.length === this.#dropsFrom) this.#dropsFrom = -1;
      if (one.out !== null) this.#writer.close(one.out, blockElements.has(one.out));
      else if (!one.drops && blockElements.has(one.name)) this.#writer.line();
    }
  }

  /** Handles an end tag. False if no element of that name is open, or not within this cell or block. */
  close(name: string): boolean {
    const inline = !blockElements.has(name);
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const one = this.#stack[at] as OpenElement;
      if (one.name === name || (headings.has(name) && headings.has(one.name))) {
        this.shrink(at);
        return true;
      }
      if (one.out === "table" && name !== "table") return false;
      if (one.out !== null && cells.has(one.out) && name !== "table" && !tableParts.has(name)) return false;
      if (inline && (at === this.#dropsFrom || (!one.drops && blockElements.has(one.name)))) return false;
    }
    return false;
  }

  /**
   * Closes what a browser closes before such an element begins. Returns the elements that have to be opened before it; null if it is not
   * allowed here.
   */
  makeRoom(out: string): string[] | null {
    if (tableParts.has(out)) return this.#roomInTable(out);
    const implied = this.#cellFor();
    if (implied.length > 0) return out === "li" || out === "dt" || out === "dd" ? null : implied;
    if (out === "li") this.#endLast(["li"]);
    if (out === "dt" || out === "dd") this.#endLast(["dt", "dd"]);
    if (blockElements.has(out)) this.#endParagraph();
    if (headings.has(out) && headings.has(this.around?.out ?? ""))
      this.shrink(this.#indexOf((one) => headings.has(one)));
    if (out === "li") return this.around?.out === "ul" || this.around?.out === "ol" ? [] : null;
    if (out === "dt" || out === "dd") return this.around?.out === "dl" ? [] : null;
    return [];
  }

  /** Returns the elements to open so that text or an element is allowed here: programs disagree about content between cells. */
  #cellFor(): string[] {
    const out = this.around?.out ?? "";
    if (!tableFrames.has(out)) return [];
    if (out === "colgroup") this.shrink(this.#indexOf((one) => one === "colgroup"));
    return out === "tr" ? ["td"] : ["tr", "td"];
  }

  /** Like `makeRoom`, for text. */
  makeRoomForText(): string[] {
    return this.#cellFor();
  }

  #roomInTable(out: string): string[] | null {
    const table = this.#indexOf((one) => one === "table");
    if (table < 0) return null;
    const above = (names: string[]): number =>
      this.#stack.findLastIndex((one, at) => at > table && names.includes(one.out ?? ""));
    const section = above(["thead", "tbody", "tfoot"]);
    const row = above(["tr"]);
    const group = above(["colgroup"]);
    if (out === "td" || out === "th") {
      this.shrink((row >= 0 ? row : section >= 0 ? section : table) + 1);
      return row >= 0 ? [] : ["tr"];
    }
    if (out === "tr") this.shrink((section >= 0 ? section : table) + 1);
    else if (out === "col" && group >= 0) this.shrink(group + 1);
    else this.shrink(table + 1);
    return out === "col" && group < 0 ? ["colgroup"] : [];
  }

  /** Closes a paragraph where a block begins in it. */
  #endParagraph(): void {
    const at = this.#stack.findLastIndex(
      ({ out }) => out !== null && (out === "p" || out === "table" || cells.has(out)),
    );
    if (this.#stack[at]?.out === "p") this.shrink(at);
  }

  /** Closes an item where the next one begins. */
  #endLast(names: string[]): void {
    const at = this.#stack.findLastIndex(
      ({ out }) => out !== null && (names.includes(out) || (blockElements.has(out) && out !== "div" && out !== "p")),
    );
    if (names.includes(this.#stack[at]?.out ?? "")) this.shrink(at);
  }

  #indexOf(wanted: (out: string) => boolean): number {
    return this.#stack.findLastIndex(({ out }) => out !== null && wanted(out));
  }
}
