import { plainText } from "#src/html/letter/plainText.ts";
import { type Element, elementsIn, type Piece } from "#src/html/letter/readLetter.ts";
import { visible } from "#src/html/visible.ts";
import type { AnsweredMessage } from "../approvalView.ts";
import type { Writing } from "./reviewCard.ts";

type Around = { signature: string; answers: Pick<AnsweredMessage, "newText" | "quotedText"> | null };

/**
 * Folds what a letter quotes below its new text, its signature aside. Only words that the answered message really has are folded: whatever
 * else is behind `>` would be sent as well, and is the agent's own.
 */
export function foldQuote(letter: string, { signature, answers }: Around): Writing {
  const whole = letter.trim();
  if (answers === null) return { text: whole, folded: "" };
  const end = endOfBody(whole, signature);
  const lines = whole.slice(0, end).trimEnd().split("\n");
  const first = lines.findLastIndex((line) => line.trim() !== "" && !isQuoted(line)) + 1;
  const quoted = lines.slice(first).join("\n").trim();
  const isTheirs = words(`${answers.newText}\n${answers.quotedText}`).includes(words(quoted));
  if (quoted === "" || !isTheirs) {
    return { text: whole, folded: "" };
  }
  const text = [lines.slice(0, first).join("\n").trimEnd(), whole.slice(end).trim()];
  return { text: text.filter((part) => part !== "").join("\n\n"), folded: quoted };
}

/** What its sender wrote this time, and the rest of a message: quotes and signature; the whole where its new text is between quotes. */
export function newAndQuoted({ text, extracted }: { text: string | null; extracted: string | null }) {
  const whole = text ?? "";
  const newText = extracted === null || extracted.trim() === "" ? whole : extracted;
  return { newText, quotedText: restOf(whole, newText.trimEnd()) };
}

function restOf(whole: string, newText: string): string {
  if (whole.startsWith(newText)) return whole.slice(newText.length).trim();
  return whole.trim() === newText.trim() ? "" : whole.trim();
}

/** The last quotation of a letter, if its words are those that `foldQuote` folded in its text. */
export function foldedQuotation(letter: readonly Piece[], folded: string): Element | undefined {
  if (folded === "") return undefined;
  const last = elementsIn(letter, "blockquote", { outermost: true }).at(-1);
  return last && words(plainText([last], { show: visible })) === words(folded) ? last : undefined;
}

/** Where the signature begins, with the line that parts it from the rest. */
function endOfBody(whole: string, signature: string): number {
  const own = signature.trim();
  if (own === "" || !whole.endsWith(own)) return whole.length;
  const before = whole.slice(0, whole.length - own.length);
  return before.replace(/\n-- ?\n\s*$/, "\n").length;
}

const isQuoted = (line: string): boolean => /^\s*>/.test(line);

/** Its words in one line, a blank around each, without the marks of quotes. */
const words = (text: string): string => ` ${text.replace(/^[ \t]*(?:>[ \t]?)+/gm, "").trim()} `.replace(/\s+/g, " ");
