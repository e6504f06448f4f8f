import { blockElements } from "../reduce/names.ts";
import { Lines } from "./lines.ts";
import { markOf, type TextMarks, withMark } from "./markedText.ts";
import { type LetterElement, type LetterPiece, pictureInWords, readLetter, targetOf, wordsIn } from "./readLetter.ts";

/**
 * The plain-text form of links and text. `link`: what is written before and after it; `isHidden`: its own text is left out. `show`
 * transforms every text of the letter.
 */
export type Wording = {
  show: (text: string) => string;
  picture: (picture: LetterElement) => string;
  link: (link: LetterElement) => { before?: string; after?: string; isHidden?: boolean };
};

/** Derives the plain text sent with reduced HTML, if its author gave none. Nothing is cut: reduced HTML is bounded. */
export const textOfBody = (reducedHtml: string): string => plainText(readLetter(reducedHtml));

/**
 * Renders a letter as plain text: marks as signs (markedText.ts), numbers of lists as a browser shows them, quotations after `>`, cells
 * of a row separated by `|`, links followed by their target unless their text shows it.
 */
export function plainText(letter: readonly LetterPiece[], wording: Partial<Wording> = {}): string {
  const show = wording.show ?? ((text: string) => text);
  const writer = new TextWriter({
    show,
    picture: (picture) => show(pictureInWords(picture)),
    link: (link) => ({ after: show(targetBeside(link)) }),
    ...wording,
  });
  writer.write(letter, { marks: "", isPreformatted: false, quotes: 0, lists: 0 });
  return writer.lines.toString().trim();
}

/** Returns a link's target, unless its own text is the same. */
function targetBeside(link: LetterElement): string {
  const target = targetOf(link).replace(/^mailto:/i, "");
  return target === wordsIn(link.pieces) ? "" : ` [${target}]`;
}

/** Surroundings of a piece. `quotes`, `lists`: nesting depth of `q` elements and lists. */
type PieceContext = { marks: TextMarks; isPreformatted: boolean; quotes: number; lists: number };

class TextWriter {
  readonly lines = new Lines();
  readonly #wording: Wording;

  constructor(wording: Wording) {
    this.#wording = wording;
  }

  write(pieces: readonly LetterPiece[], around: PieceContext): void {
    for (const piece of pieces) {
      if (typeof piece === "string") this.lines.text(this.#wording.show(piece), around.marks, around.isPreformatted);
      else if (blockElements.has(piece.name)) this.#block(piece, around);
      else this.#inline(piece, around);
    }
  }

  #inline(element: LetterElement, around: PieceContext): void {
    const { name, pieces } = element;
    const mark = markOf.get(name);
    if (name === "br") this.lines.lineBreak();
    else if (name === "img") this.lines.text(this.#wording.picture(element), around.marks);
    else if (name === "a") this.#link(element, around);
    else if (name === "q") this.#quotation(pieces, around);
    else this.write(pieces, mark ? { ...around, marks: withMark(around.marks, mark) } : around);
  }

  #link(link: LetterElement, around: PieceContext): void {
    const { before = "", after = "", isHidden } = this.#wording.link(link);
    this.lines.text(before, around.marks);
    if (!isHidden) this.write(link.pieces, around);
    this.lines.text(after, around.marks);
  }

  /** Adds the quotation marks that browsers add too. */
  #quotation(pieces: readonly LetterPiece[], around: PieceContext): void {
    const [begin, end] = around.quotes === 0 ? "“”" : "‘’";
    this.lines.text(begin as string, around.marks);
    this.write(pieces, { ...around, quotes: around.quotes + 1 });
    this.lines.text(end as string, around.marks);
  }

  #block(element: LetterElement, around: PieceContext): void {
    const { name, pieces, marker } = element;
    const breaks = alone.has(name) && !(isList(name) && around.lists > 0) ? 2 : 1;
    this.lines.block(breaks);
    if (marker !== null) {
      const first = ` ${marker} `;
      this.lines.within({ first, prefix: " ".repeat(first.length) }, () => this.write(pieces, around));
    } else if (name === "blockquote") {
      this.lines.within({ first: null, prefix: "> " }, () => this.write(pieces, around));
    } else if (name === "hr") this.lines.text(rule, "");
    else if (name === "tr") this.#row(pieces, around);
    else if (name === "pre") this.write(pieces, { ...around, isPreformatted: true });
    else this.write(pieces, isList(name) ? { ...around, lists: around.lists + 1 } : around);
    this.lines.block(breaks);
  }

  #row(pieces: readonly LetterPiece[], around: PieceContext): void {
    let cells = 0;
    for (const piece of pieces) {
      if (typeof piece === "string") continue;
      if (cells++ > 0) this.lines.cell();
      this.write(piece.pieces, around);
    }
  }
}

/** Blocks with a blank line before and after them; all others only begin a line. */
const alone = new Set("p h1 h2 h3 h4 h5 h6 blockquote pre ul ol dl table hr".split(" "));

const isList = (name: string): boolean => name === "ul" || name === "ol";

const rule = "-".repeat(40);
