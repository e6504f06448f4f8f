/** Maximum number of blank lines in a row. */
const maxBlankLines = 2;
const blanks = /[ \t\r\n\f]+/g;

/** A position in the text: number of lines above, and of characters before it in its line. */
export type TextPosition = { line: number; column: number };

/** Writes text in lines, collapsing white space as a browser does. */
export type TextLines = {
  /** Writes text with white space collapsed. */
  text(text: string): void;
  /** Writes text with white space preserved. */
  exactText(text: string): void;
  /** Ends the line if it has begun; 2 adds a blank line. */
  breakLine(count: 1 | 2): void;
  /** Ends the line even if it is empty. */
  forceBreak(): void;
  /** Drops pending line breaks. */
  withoutBreak(): void;
  /** Writes the separator before the next text if that is on the same line. */
  separate(separator: string): void;
  /** Sets the marker that the next line of text begins with. */
  mark(marker: string): void;
  /** Changes the number of quotation marks written before each following line. */
  quote(change: 1 | -1): void;
  place(): TextPosition;
  /** Returns the text written since `place`, if it is within one line. */
  since(place: TextPosition): string | undefined;
  /** Returns the last non-blank lines, at most this many, the newest last. */
  last(count: number): string[];
  end(): string;
};

export function createTextLines(): TextLines {
  const lines: string[] = [];
  let line = "";
  let depth = 0;
  let lineDepth = 0;
  let breaks = 0;
  let blank = false;
  /** True if the line has only non-breaking blanks so far: people use these for an empty line. */
  let isSpaced = false;
  let separator = "";
  let marker = "";

  function endLine(): void {
    lines.push(line.trimEnd());
    const between = Math.min(depth, lineDepth);
    const count = Math.min(breaks - 1, maxBlankLines);
    for (let n = 0; n < count; n += 1) lines.push("> ".repeat(between).trimEnd());
    line = "";
  }

  function beginText(): void {
    if (breaks > 0 && line !== "") endLine();
    if (line === "") {
      lineDepth = depth;
      line = `${"> ".repeat(depth)}${marker}`;
      marker = "";
    } else if (separator !== "") line += separator;
    else if (blank) line += " ";
    breaks = 0;
    separator = "";
    blank = false;
  }

  function text(given: string): void {
    const joined = given.replace(blanks, " ").replaceAll("\u00a0", " ").replaceAll("\u200b", "");
    const words = joined.trim();
    if (words === "") {
      blank ||= joined !== "";
      isSpaced ||= breaks > 0 && given.includes("\u00a0");
      return;
    }
    blank ||= joined.startsWith(" ");
    isSpaced = false;
    beginText();
    line += words;
    blank = joined.endsWith(" ");
  }

  function forceBreak(): void {
    if (line !== "" || lines.length > 0) breaks += 1;
    blank = false;
  }

  return {
    text,
    exactText(given) {
      for (const [index, piece] of given.split(/\r?\n/).entries()) {
        if (index > 0) forceBreak();
        if (piece.trim() === "") continue;
        beginText();
        line += piece;
      }
    },
    breakLine(count) {
      if (line !== "" || lines.length > 0) breaks = Math.max(breaks, isSpaced ? 2 : count);
      isSpaced = false;
      blank = false;
    },
    forceBreak,
    withoutBreak() {
      breaks = 0;
      blank = false;
    },
    separate(between) {
      separator = breaks === 0 && line !== "" ? between : "";
    },
    mark(given) {
      marker = given;
    },
    quote(change) {
      depth = Math.max(0, depth + change);
    },
    place: () => ({ line: lines.length, column: line.length }),
    since: (place) => (place.line === lines.length ? line.slice(place.column) : undefined),
    last(count) {
      const all = [...lines.slice(-2 * count - maxBlankLines), line];
      return all.filter((one) => one.trim() !== "").slice(-count);
    },
    end() {
      lines.push(line.trimEnd());
      return lines.join("\n");
    },
  };
}
