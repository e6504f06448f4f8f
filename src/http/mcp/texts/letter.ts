import { foldQuote, newAndQuoted } from "#src/channels/card/quotes.ts";
import { textOfBody } from "#src/html/letter/plainText.ts";
import type { WireMessage } from "../../present/messages.ts";
import { untrustedText } from "../fence.ts";

/** What a message says again, and what it quotes, as they came. */
export type Letter = { written: string; quoted: string };

/** `answered`: the message that one of ours answers, whose words are folded in it. */
export function letterOf(message: WireMessage, answered: WireMessage | undefined): Letter {
  const letter = message.direction === "inbound" ? received(message) : sent(message, answered);
  return { written: letter.written.trim(), quoted: letter.quoted.trim() };
}

function received({ body_text, extracted_text }: WireMessage): Letter {
  const { newText, quotedText } = newAndQuoted({ text: body_text, extracted: extracted_text });
  return { written: newText, quoted: quotedText };
}

function sent({ body_text, body_html }: WireMessage, answered: WireMessage | undefined): Letter {
  const answers = answered ? newAndQuoted({ text: answered.body_text, extracted: answered.extracted_text }) : null;
  const { text, folded } = foldQuote(body_text ?? textOfBody(body_html ?? ""), { signature: "", answers });
  return { written: text, quoted: folded };
}

/** A text as it can be shown. Blank lines in a row are one: each line of a result costs its reader some characters. */
export const shownText = (text: string): string =>
  untrustedText(text)
    .replace(/(?<![ \t])[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
