import { plainText } from "#src/html/letter/plainText.ts";
import { elementsIn, type LetterElement, type LetterPiece } from "#src/html/letter/readLetter.ts";
import { visible } from "#src/html/visible.ts";
import { isAttribution } from "#src/mail/in/quotes/attribution.ts";
import { partsOf } from "#src/mail/in/quotes/parts.ts";
import type { AnsweredMessage } from "../approvalView.ts";
import { type EarlierText, earlierText, maxText, searchIn, words } from "./earlierTexts.ts";

/** Maximum number of lines of a text that is folded, because each line takes time, however short it is. */
const maxLines = 4_000;
/** Deepest nesting of quotations. */
const maxDepth = 5;

type QuotedContext = { signature: string; answers: Pick<AnsweredMessage, "newText" | "quotedText"> | null };

/** A text with line breaks. `folded`: the quotation below it, hidden until opened; "" if none. */
export type FoldedText = { text: string; folded: string };

/**
 * Folds a letter's quotation below its new text, apart from its signature. Folds only words that the answered message really has: any
 * other text after `>` would be sent too, and is the agent's own.
 */
export function foldQuote(letter: string, { signature, answers }: QuotedContext): FoldedText {
  const whole = letter.trim();
  if (answers === null || whole.length > maxText) return { text: whole, folded: "" };
  const end = endOfBody(whole, signature);
  const lines = whole.slice(0, end).trimEnd().split("\n");
  const first = lines.findLastIndex((line) => line.trim() !== "" && !isQuoted(line)) + 1;
  const quoted = lines.slice(first).join("\n").trim();
  const theirs = earlierText(`${answers.newText}\n${answers.quotedText}`);
  if (quoted === "" || !searchIn([theirs])(words(quoted))) {
    return { text: whole, folded: "" };
  }
  const text = [lines.slice(0, first).join("\n").trimEnd(), whole.slice(end).trim()];
  return { text: text.filter((part) => part !== "").join("\n\n"), folded: quoted };
}

/** A received message for display: `quotedText` is what it quotes of earlier messages, shown folded; `newText` is the rest. */
export type FoldedMessage = { newText: string; quotedText: string };

/** True for a text with a quotation that may be folded: only then the earlier messages are needed. */
export const quotesAnything = (text: string): boolean =>
  isFoldable(text) && partsOf(text).some(({ kind }) => kind === "quoted");

const isFoldable = (text: string): boolean =>
  text.length <= maxText && text.split("\n", maxLines + 1).length <= maxLines;

/**
 * Folds a message's quotations of earlier messages of its conversation; the earlier messages are given newest first. A quotation stays
 * visible if one of its paragraphs is in none of these messages, because the writer may have written it, or if the search takes too many
 * steps.
 */
export function foldQuotations(text: string | null, earlier: readonly EarlierText[]): FoldedMessage {
  const whole = text ?? "";
  if (!isFoldable(whole)) return { newText: whole.trim(), quotedText: "" };
  const isIn = searchIn(earlier);
  const [shown, folded]: [string[], string[]] = [[], []];
  /** Lines that introduce a quotation, and are folded with it. */
  let introduction: string[] = [];
  for (const { kind, lines } of partsOf(whole)) {
    const part = lines.join("\n");
    if (part.trim() === "") continue;
    if (kind === "attribution" || kind === "header") {
      introduction.push(part);
      continue;
    }
    const isFolded = kind === "quoted" && earlier.length > 0 && wordsOfParagraphs(part).every(isIn);
    (isFolded ? folded : shown).push(...introduction, part);
    introduction = [];
  }
  const newText = joined([...shown, ...introduction]);
  return newText === "" ? { newText: whole.trim(), quotedText: "" } : { newText, quotedText: joined(folded) };
}

const joined = (parts: readonly string[]): string =>
  parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");

const wordsOfParagraphs = (quotation: string): string[] =>
  paragraphsOf(quotation)
    .map(words)
    .filter((paragraph) => paragraph.trim() !== "");

/** Returns the paragraphs of a quotation, and of its nested quotations, without their introductions. */
function paragraphsOf(quotation: string, depth = 0): string[] {
  const inner = quotation.replace(/^[ \t]{0,3}>[ \t]?/gm, "").trim();
  return partsOf(inner).flatMap(({ kind, lines }, index) => {
    if (kind === "attribution" || kind === "header") return [];
    const part = lines.join("\n");
    if (kind === "quoted" && depth < maxDepth) return paragraphsOf(part, depth + 1);
    const paragraphs = part.split(/\n[ \t]*\n/);
    return index === 0 && isAttribution((paragraphs[0] ?? "").split("\n")) ? paragraphs.slice(1) : paragraphs;
  });
}

/** Finds the last quotation of a letter, if its words equal the text that `foldQuote` folded. */
export function foldedQuotation(letter: readonly LetterPiece[], folded: string): LetterElement | undefined {
  if (folded === "") return undefined;
  const last = elementsIn(letter, "blockquote", { outermost: true }).at(-1);
  return last && words(plainText([last], { show: visible })) === words(folded) ? last : undefined;
}

/** Returns where the signature begins, including the line that separates it from the body. */
function endOfBody(whole: string, signature: string): number {
  const own = signature.trim();
  if (own === "" || !whole.endsWith(own)) return whole.length;
  const before = whole.slice(0, whole.length - own.length);
  return before.replace(/\n-- ?\n\s*$/, "\n").length;
}

const isQuoted = (line: string): boolean => /^\s*>/.test(line);
