import { type MarkedRun, markedText, type TextMarks } from "./markedText.ts";

/** Lays out lines of plain text as a browser lays out HTML: blanks in a row become one, blocks begin on their own line. */
export class Lines {
  readonly #done: string[] = [];
  #runs: MarkedRun[] = [];
  /** True if this line has any content, even if only the marker of an item. */
  #begun = false;
  /** Line breaks due before the next text: 1 for a new line, 2 for a blank line between. */
  #due = 0;
  /** Beginning of each line: marks of quotes, and indentation for the markers of lists. */
  #prefix = "";
  /** Beginning of the next line only, if it has a marker. */
  #first: string | null = null;
  #linePrefix = "";
  #isBlankBefore = true;
  /** True if a cell has begun in this line: a block that begins in the cell then begins on this line. */
  #isInCell = false;

  /** Adds text within a line; `isPreformatted`: its blanks and line breaks stay. */
  text(text: string, marks: TextMarks, isPreformatted = false): void {
    if (isPreformatted) {
      text.split("\n").forEach((line, index) => {
        if (index > 0) this.lineBreak();
        if (line !== "") this.#push(line, marks);
      });
      return;
    }
    const shown = text.replace(/[ \t\n\f\r]+/g, " ");
    const isBlankBefore = this.#isBlankBefore || this.#due > 0;
    const rest = isBlankBefore ? shown.replace(/^ /, "") : shown;
    if (rest === "") return;
    this.#push(rest, marks);
    this.#isBlankBefore = rest.endsWith(" ");
  }

  lineBreak(): void {
    this.#begin();
    this.#end();
  }

  /** Begins or ends a block. `breaks`: number of line breaks before the next text. */
  block(breaks: 1 | 2): void {
    // A block next to a marker, or at the beginning of a cell, begins on the same line.
    if (this.#first !== null || this.#isInCell) return;
    this.#due = Math.max(this.#due, breaks);
  }

  /** Begins a cell that is not the first of its row: it continues on the same line. */
  cell(): void {
    this.#due = 0;
    this.#push(" | ", "");
    this.#isBlankBefore = true;
    this.#isInCell = true;
  }

  /** Indents what `write` writes: `first` before its first line, `prefix` before every other. */
  within({ first, prefix }: { first: string | null; prefix: string }, write: () => void): void {
    const around = { prefix: this.#prefix, first: this.#first };
    if (first !== null) {
      this.#flush();
      this.#first = (this.#first ?? this.#prefix) + first;
    } else if (this.#first !== null) this.#first += prefix;
    this.#prefix += prefix;
    write();
    // A marker is shown even if nothing follows it.
    if (first !== null && this.#first !== null) this.#begin();
    this.#prefix = around.prefix;
    if (this.#first !== null) this.#first = around.first;
  }

  toString(): string {
    this.#flush();
    return this.#done.join("\n");
  }

  #push(text: string, marks: TextMarks): void {
    this.#begin();
    const last = this.#runs.at(-1);
    if (last?.marks === marks) last.text += text;
    else this.#runs.push({ text, marks });
    this.#isBlankBefore = false;
    this.#isInCell = false;
  }

  /** Begins a line if none has begun, after the line breaks that are due. */
  #begin(): void {
    if (this.#due > 0) this.#flush();
    if (this.#begun) return;
    this.#begun = true;
    this.#linePrefix = this.#first ?? this.#prefix;
    this.#first = null;
    this.#isBlankBefore = true;
  }

  /** Ends the current line, and adds a blank one if that is due. */
  #flush(): void {
    if (this.#begun) this.#end();
    if (this.#due > 1 && this.#done.length > 0 && !isBlank(this.#done.at(-1) ?? "")) {
      this.#done.push(common(this.#linePrefix, this.#prefix).trimEnd());
    }
    this.#due = 0;
  }

  #end(): void {
    this.#done.push((this.#linePrefix + markedText(this.#runs)).replace(/[ \t]+$/, ""));
    this.#runs = [];
    this.#begun = false;
    this.#isBlankBefore = true;
  }
}

const isBlank = (line: string): boolean => /^[> ]*$/.test(line);

/** Returns the common prefix of both. */
function common(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}
