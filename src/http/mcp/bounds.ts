import { cutText } from "#streams/cutText.ts";

/**
 * Maximum number of characters in a tool's result. Each part has a separate limit, so that the total stays below this one whatever the
 * mails contain; a test checks the largest possible result.
 */
export const maxText = 64_000;
/** For the structured content, as JSON. */
export const maxStructured = 128_000;

/** Characters per page of a text that is read in pages. */
export const pageCharacters = 12_000;

/**
 * Part of a text as shown. `offset`, `nextOffset` and `total` count characters of the original text; `nextOffset`: start of the rest, null
 * at the end.
 */
export type TextPiece = { text: string; offset: number; nextOffset: number | null; total: number };

export type TextPieceOptions = {
  offset?: number;
  most?: number;
  /** Escapes the text for display; the result may be longer. */
  show?: (text: string) => string;
};

/** The part of a text from `offset`, cut between characters. Its cost depends on the part only, however long the text is. */
export function pieceOf(whole: string, options: TextPieceOptions): TextPiece {
  const { offset = 0, most = pageCharacters, show = (text) => text } = options;
  const from = isInsidePair(whole, offset) ? offset + 1 : Math.min(offset, whole.length);
  for (let count = most; ; count = Math.floor(count / 2)) {
    const part = cutText(whole.slice(from), count);
    const to = from + part.length;
    const text = show(part);
    if (roomOf(text) <= most || count <= 2) {
      return { text, offset: from, nextOffset: to < whole.length ? to : null, total: whole.length };
    }
  }
}

/** Length of the text with the `| ` prefix of each line. */
const roomOf = (text: string): number => text.length + 2 * (text.split("\n").length - 1);

const isInsidePair = (text: string, at: number): boolean =>
  /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "");
