import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";
import { textOfBody } from "#src/html/letter/plainText.ts";
import type { WireMessage } from "../../present/messages.ts";
import { untrustedText } from "../fence.ts";

/** What a message says again, and what it quotes, as they came. */
export type Letter = { written: string; quoted: string };

/** The messages that were before another one, whose words are folded in it. `answered`: the one that one of ours answers. */
export type Before = { answered: WireMessage | undefined; earlier: readonly WireMessage[] };

export function letterOf(message: WireMessage, { answered, earlier }: Before): Letter {
  const letter = message.direction === "inbound" ? received(message, earlier) : sent(message, answered);
  return { written: letter.written.trim(), quoted: letter.quoted.trim() };
}

function received({ body_text }: WireMessage, earlier: readonly WireMessage[]): Letter {
  const { newText, quotedText } = foldQuotations(body_text, earlier.map(textOf));
  return { written: newText, quoted: quotedText };
}

function sent(message: WireMessage, answered: WireMessage | undefined): Letter {
  const answers = answered ? { newText: answered.body_text ?? "", quotedText: "" } : null;
  const { text, folded } = foldQuote(textOf(message), { signature: "", answers });
  return { written: text, quoted: folded };
}

const textOf = ({ body_text, body_html }: WireMessage): string => body_text ?? textOfBody(body_html ?? "");

/** A text as it can be shown. Blank lines in a row are one: each line of a result costs its reader some characters. */
export const shownText = (text: string): string =>
  untrustedText(text)
    .replace(/(?<![ \t])[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
