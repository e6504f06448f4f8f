import { cutText } from "#streams/cutText.ts";

/**
 * Style of a part of a text. `quote`: others' words, behind a bar that no text can imitate. `verbatim`: a text to be copied, in which
 * Telegram finds nothing to tap.
 */
export type TextStyle = "bold" | "italic" | "underline" | "strikethrough" | "quote" | "folded" | "verbatim";

/** A piece of text in one style; `link` is its target. The text is never parsed as markup. */
export type StyledSpan = { text: string; style?: TextStyle; link?: string };

export type MessageEntity = { type: string; offset: number; length: number; url?: string };

/** A message's text with the styles of its parts; offsets in UTF-16 units, as Telegram counts. */
export type Styled = { text: string; entities: MessageEntity[] };

/** Rows of buttons. A button with `callback_data` reports its press to the service; a button with `url` opens that URL. */
export type Keyboard = ({ text: string; callback_data: string } | { text: string; url: string })[][];

/** UTF-16 units in a message at most. */
export const maxMessageLength = 4096;

const typeOf: Record<TextStyle, string> = {
  bold: "bold",
  italic: "italic",
  underline: "underline",
  strikethrough: "strikethrough",
  quote: "blockquote",
  folded: "expandable_blockquote",
  verbatim: "pre",
};

export function styled(spans: readonly StyledSpan[]): Styled {
  let text = "";
  const entities: MessageEntity[] = [];
  for (const { text: piece, style, link } of spans) {
    const place = { offset: text.length, length: piece.length };
    if (piece.length > 0 && style) entities.push({ type: typeOf[style], ...place });
    if (piece.length > 0 && link) entities.push({ type: "text_link", ...place, url: link });
    text += piece;
  }
  return { text, entities };
}

/**
 * Splits the text into at most `most` messages of at most `length` units each; `left`: number of units that did not fit. Splits at the
 * end of a line, or between words, where possible, and never within a character.
 */
export function inMessages(
  spans: readonly StyledSpan[],
  { length = maxMessageLength, most }: { length?: number; most: number },
): { messages: StyledSpan[][]; left: number } {
  const messages: StyledSpan[][] = [[]];
  let room = length;
  let left = 0;
  for (const span of spans) {
    let rest = span.text;
    while (rest.length > 0) {
      if (messages.length > most) break;
      // Telegram removes leading blanks from a message, which would shift the offsets.
      if (room === length) rest = rest.replace(/^\s+/, "");
      const piece = rest.slice(0, cutAt(rest, room, room === length));
      if (piece.length > 0) messages.at(-1)!.push({ ...span, text: piece });
      rest = rest.slice(piece.length);
      room -= piece.length;
      if (rest.length > 0) {
        messages.push([]);
        room = length;
      }
    }
    left += rest.length;
  }
  if (messages.length > most) messages.pop();
  return { messages: messages.filter((message) => message.length > 0), left };
}

/** Returns where a text of more than `room` units is split. `isFresh`: the whole message is free, so some text has to go in. */
function cutAt(text: string, room: number, isFresh: boolean): number {
  if (text.length <= room) return text.length;
  const line = text.lastIndexOf("\n", room - 1) + 1;
  if (line > room / 2 || (!isFresh && line > 0)) return line;
  const word = text.lastIndexOf(" ", room - 1) + 1;
  if (word > room / 2) return word;
  if (!isFresh && room < 200) return 0;
  return cutText(text, room).length;
}
/** Makes an unstyled text. */
export const plain = (text: string): Styled => ({ text, entities: [] });
