/**
 * How large a result can be, in characters. The parts are bounded each by its own number, so that the whole stays below these whatever strangers write;
 * a test holds the largest there can be against them.
 */
export const maxText = 64_000;
/** Of the structured content, as JSON. */
export const maxStructured = 128_000;

/** Of one text that is read page by page. */
export const pageCharacters = 12_000;

/**
 * A piece of a text, as it is shown. `offset`, `nextOffset` and `total` count the characters of the text as it came; `nextOffset`: where its rest begins,
 * null at its end.
 */
export type Piece = { text: string; offset: number; nextOffset: number | null; total: number };

export type PieceOptions = {
  offset?: number;
  most?: number;
  /** Makes a text fit to be shown, and perhaps longer. */
  show?: (text: string) => string;
};

/** The piece of a text that begins at `offset`, never with half a character at its ends. Only the piece is worked on, however long the text is. */
export function pieceOf(whole: string, options: PieceOptions): Piece {
  const { offset = 0, most = pageCharacters, show = (text) => text } = options;
  const from = isInsidePair(whole, offset) ? offset + 1 : Math.min(offset, whole.length);
  for (let count = most; ; count = Math.floor(count / 2)) {
    const to = endBefore(whole, Math.min(whole.length, from + count));
    const text = show(whole.slice(from, to));
    if (roomOf(text) <= most || count <= 2) {
      return { text, offset: from, nextOffset: to < whole.length ? to : null, total: whole.length };
    }
  }
}

/** With what comes before each line of it. */
const roomOf = (text: string): number => text.length + 2 * (text.split("\n").length - 1);

const endBefore = (text: string, at: number): number => (isInsidePair(text, at) ? at - 1 : at);

const isInsidePair = (text: string, at: number): boolean =>
  /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "");

/** The beginning of a text: at most `max` characters of it, with a sign that there is more. */
export const beginningOf = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, endBefore(text, max - 1))}…` : text;
