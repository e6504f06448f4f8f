import { maxDepth, voidElements } from "../reduce/names.ts";
import { readTokens } from "../reduce/tokens.ts";

/** Text, or an element with its content. */
export type LetterPiece = string | LetterElement;

export type LetterElement = {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly pieces: LetterPiece[];
  /** Number that a list item shows, with its dot, or the sign in its place; null for any other element. */
  readonly marker: string | null;
};

/** The sign of an item without a number. */
const bullet = "*";

/**
 * Parses reduced HTML (reduce/) into the one structure from which everything else is made: the approval page's HTML, every plain text and
 * the comparison of the two. Styles are dropped, since they carry no meaning.
 */
export function readLetter(reducedHtml: string): LetterPiece[] {
  const letter: LetterElement = { name: "", attributes: new Map(), pieces: [], marker: null };
  const open: { element: LetterElement; items: number }[] = [{ element: letter, items: 0 }];
  readTokens(reducedHtml, {
    open({ name, attributes }) {
      const around = open.at(-1) as (typeof open)[number];
      const given = new Map(attributes.filter((one) => one.name !== "style").map((one) => [one.name, one.value]));
      const element = { name, attributes: given, pieces: [], marker: name === "li" ? markerIn(around) : null };
      around.element.pieces.push(element);
      // No reduced body is nested deeper.
      if (!voidElements.has(name) && open.length <= 2 * maxDepth) open.push({ element, items: 0 });
    },
    close(name) {
      const at = open.findLastIndex(({ element }) => element.name === name);
      if (at > 0) open.length = at;
    },
    text(_source, text) {
      const { name, pieces } = (open.at(-1) as (typeof open)[number]).element;
      // Browsers skip a line break at the beginning of preformatted text.
      const shown = name === "pre" && pieces.length === 0 ? text.replace(/^\n/, "") : text;
      const last = pieces.at(-1);
      if (typeof last === "string") pieces[pieces.length - 1] = last + shown;
      else pieces.push(shown);
    },
    comment() {},
    doctype() {},
  });
  return letter.pieces;
}

function markerIn(list: { element: LetterElement; items: number }): string {
  if (list.element.name !== "ol") return bullet;
  return `${Number(list.element.attributes.get("start") ?? 1) + list.items++}.`;
}

/** Returns all elements with this name in order; `outermost`: without those nested in others. */
export function elementsIn(pieces: readonly LetterPiece[], name: string, { outermost = false } = {}): LetterElement[] {
  return pieces.flatMap((piece) => {
    if (typeof piece === "string") return [];
    if (piece.name === name && outermost) return [piece];
    const within = elementsIn(piece.pieces, name, { outermost });
    return piece.name === name ? [piece, ...within] : within;
  });
}

/** Joins the words in order, with pictures by their alternative text. */
export const wordsIn = (pieces: readonly LetterPiece[]): string =>
  pieces
    .map((piece) => {
      if (typeof piece === "string") return piece;
      return piece.name === "img" ? pictureInWords(piece) : wordsIn(piece.pieces);
    })
    .join("");

/** Returns the text that programs without pictures show for a picture. */
export function pictureInWords({ attributes }: LetterElement): string {
  const alternative = attributes.get("alt")?.trim() ?? "";
  return alternative === "" ? "[image]" : `[image: ${alternative}]`;
}

/** Returns the target of a link. */
export const targetOf = ({ attributes }: LetterElement): string => (attributes.get("href") ?? "").trim();
