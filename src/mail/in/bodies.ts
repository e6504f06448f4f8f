import { createContext, Script } from "node:vm";
import EmailReplyParser from "email-reply-parser";
import { compile } from "html-to-text";
import { storable } from "./storable.ts";

const maxReplyChars = 128 * 1024;
const extractionMs = 500;
const conversionMs = 2_000;
const maxHtmlChars = 1024 * 1024;

const replies = new EmailReplyParser();

const toText = compile({
  wordwrap: false,
  limits: { maxDepth: 50, maxChildNodes: 20_000, maxInputLength: maxHtmlChars },
  selectors: [
    { selector: "img", format: "skip" },
    { selector: "a", options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
  ],
});

/** The text of a reply without what it quotes and its signature; the whole text if that cannot be found out in time. */
export function extractReply(text: string): string {
  if (text.length > maxReplyChars) return text;
  return within(extractionMs, () => storable(replies.parseReply(text)).trim()) ?? text;
}

/** The words of an HTML body, laid out as text; if that takes too long, only stripped of its tags. */
export function textOfHtml(html: string): string {
  return within(conversionMs, () => storable(toText(html.slice(0, maxHtmlChars)))) ?? withoutTags(html);
}

/** Used for HTML that is too costly to lay out. */
export const withoutTags = (html: string): string =>
  html
    .replace(/<[^<>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();

const stopwatch = createContext({ work: (): unknown => undefined });
const doWork = new Script("work()");

/** What the work returns; undefined if it throws or takes longer. A context is what can be stopped, even inside a regular expression. */
function within<T>(timeoutMs: number, work: () => T): T | undefined {
  stopwatch.work = work;
  try {
    return doWork.runInContext(stopwatch, { timeout: timeoutMs });
  } catch {
    return undefined;
  }
}
