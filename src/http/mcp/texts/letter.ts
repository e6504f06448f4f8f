import { type EarlierText, earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";
import type { WireMessage } from "../../present/messages.ts";
import { untrustedText } from "../fence.ts";

/** What a message says again, and what it quotes, as they came. */
export type Letter = { written: string; quoted: string };

/** The messages before another one, whose words are folded in it: `answered` is the one that one of ours answers; `earlier` are all, newest first. */
export type Before = { answered: WireMessage | undefined; earlier: readonly EarlierText[] };

export function letterOf(message: WireMessage, { answered, earlier }: Before): Letter {
  const letter = message.direction === "inbound" ? received(message, earlier) : sent(message, answered);
  return { written: letter.written.trim(), quoted: letter.quoted.trim() };
}

function received({ body_text }: WireMessage, earlier: readonly EarlierText[]): Letter {
  const { newText, quotedText } = foldQuotations(body_text, earlier);
  return { written: newText, quoted: quotedText };
}

function sent({ body_text }: WireMessage, answered: WireMessage | undefined): Letter {
  const answers = answered ? { newText: answered.body_text ?? "", quotedText: "" } : null;
  const { text, folded } = foldQuote(body_text ?? "", { signature: "", answers });
  return { written: text, quoted: folded };
}

/** The texts of messages that are oldest first, newest first. */
export const earlierTexts = (messages: readonly WireMessage[]): EarlierText[] =>
  messages.map(({ body_text }) => earlierText(body_text ?? "")).reverse();

/** A text as it can be shown. Blank lines in a row are one: each line of a result costs its reader some characters. */
export const shownText = (text: string): string =>
  untrustedText(text)
    .replace(/(?<![ \t])[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
