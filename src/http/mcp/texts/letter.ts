import { type EarlierText, earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";
import type { WireMessage } from "../../present/messages.ts";
import { untrustedText } from "../fence.ts";

/** A message's own text and the text it quotes, unescaped. */
export type LetterTexts = { written: string; quoted: string };

/**
 * Messages before this one, whose quotations are folded: `answered` is the message that a sent reply answers; `earlier`: all, newest first.
 */
export type EarlierMessages = { answered: WireMessage | undefined; earlier: readonly EarlierText[] };

export function letterOf(message: WireMessage, { answered, earlier }: EarlierMessages): LetterTexts {
  const letter = message.direction === "inbound" ? received(message, earlier) : sent(message, answered);
  return { written: letter.written.trim(), quoted: letter.quoted.trim() };
}

function received({ body_text }: WireMessage, earlier: readonly EarlierText[]): LetterTexts {
  const { newText, quotedText } = foldQuotations(body_text, earlier);
  return { written: newText, quoted: quotedText };
}

function sent({ body_text }: WireMessage, answered: WireMessage | undefined): LetterTexts {
  const answers = answered ? { newText: answered.body_text ?? "", quotedText: "" } : null;
  const { text, folded } = foldQuote(body_text ?? "", { signature: "", answers });
  return { written: text, quoted: folded };
}

/** Texts of messages, newest first; `messages` are oldest first. */
export const earlierTexts = (messages: readonly WireMessage[]): EarlierText[] =>
  messages.map(({ body_text }) => earlierText(body_text ?? "")).reverse();

/** Escapes a text for display and reduces blank lines to one, because each line of a result adds characters. */
export const shownText = (text: string): string =>
  untrustedText(text)
    .replace(/(?<![ \t])[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
