import type { MailHeaders } from "#streams/inbox/events.ts";
import type { HeaderFields } from "./headerFields.ts";
import { readMailHtml } from "./html/mailText.ts";
import type { ParsedMail } from "./parsedMail.ts";
import { ownWords } from "./quotes/parts.ts";

/** Gmail's part, which names the sign as JSON. */
const signType = "text/vnd.google.email-reaction+json";
/** A part whose text is the sign (RFC 9078). */
const signPart = /^content-disposition:[ \t]{0,20}reaction\b/im;

/** Fields of Exchange, whose reactions no part marks. */
const exchangeFields = ["x-ms-has-attach", "x-ms-exchange-messagesentrepresentingtype", "thread-index"];

/** The header fields that `reactionForm` reads, besides those of other readers. */
export const reactionFields: readonly string[] = [
  "content-type",
  "content-disposition",
  "in-reply-to",
  "references",
  ...exchangeFields,
];

/** Size in bytes of a mail with a reaction, at most. A mail is read before its filing only up to it. */
const maxBytes = 16 * 1024;

/** Outlook's signs, by the alternative text of their pictures. */
const outlookSigns = new Map(
  Object.entries({ like: "👍", heart: "❤️", celebrate: "🎉", laugh: "😆", surprised: "😮", sad: "😢" }),
);
const outlookNames = [...outlookSigns.keys()].join("|");
const outlookSign = new RegExp(`\\[(?:${outlookNames})\\]|\\balt=(?:3d)?["']?(?:${outlookNames})\\b`, "i");

/** Returns the form of a reaction that a small mail may have, because it answers a mail; undefined if none. Its text shows whether it is one. */
export function reactionForm(fields: HeaderFields, size: number): MailHeaders["mayReact"] {
  if (size > maxBytes || (fields.first("in-reply-to") === "" && fields.first("references") === "")) return undefined;
  const body = fields.body.toString("latin1");
  if (isSign(fields.first("content-type")) || body.toLowerCase().includes(signType)) return "gmail";
  if (/^reaction\b/i.test(fields.first("content-disposition")) || signPart.test(body)) return "disposition";
  return exchangeFields.some((name) => fields.count(name) > 0) || outlookSign.test(body) ? "exchange" : undefined;
}

const isSign = (contentType: string): boolean => contentType.toLowerCase().trimStart().startsWith(signType);

/**
 * Returns the sign of a mail that is a reaction of this form and nothing else, in its text and in its HTML; null for any other mail. In
 * doubt it is a mail.
 */
export function reactionIn(
  mail: Pick<ParsedMail, "extractedText" | "bodyHtml" | "attachments" | "unreadable">,
  { mayReact: form, from }: Pick<MailHeaders, "mayReact" | "from">,
): string | null {
  if (mail.unreadable !== null || form === undefined) return null;
  const files = mail.attachments.filter(({ contentType }) => !isSign(contentType));
  // Outlook encloses the picture of its sign.
  const isOfSign = ({ contentType, contentId }: (typeof files)[number]): boolean =>
    form === "exchange" && contentId !== null && /^image\//i.test(contentType);
  if (!files.every(isOfSign)) return null;
  const part = mail.attachments.find(({ contentType }) => isSign(contentType))?.bytes;
  const html = mail.bodyHtml === null ? [] : [ownWords(readMailHtml(mail.bodyHtml).text)];
  const signs = [mail.extractedText, ...html].map((text) => signIn(linesOf(text), { form, from, part }));
  return new Set(signs).size === 1 ? signs[0]! : null;
}

/** `part`: the bytes of Gmail's part. */
type Reacting = Pick<MailHeaders, "from"> & { form: MailHeaders["mayReact"]; part: Buffer | undefined };

/** Returns the sign in one form of a mail; null if its lines say anything else. */
function signIn(lines: readonly string[], { form, from, part }: Reacting): string | null {
  if (form === "gmail") return part === undefined ? null : ofGmail(part, { lines, from });
  return form === "exchange" ? ofOutlook(lines, from) : ofDisposition(lines);
}

type Sentence = { lines: readonly string[]; from: MailHeaders["from"] };

/** Gmail's form beside its part: the sign, and a sentence with the sender's name and Gmail's, in the sender's language. */
function ofGmail(part: Buffer, { lines, from }: Sentence): string | null {
  const emoji = emojiIn(part);
  if (emoji === null) return null;
  const json = part.toString().replace(/\s+/g, " ").trim();
  const words = lines.filter((line) => line !== json && plain(line) !== plain(emoji));
  const isSaid = (line: string): boolean => afterName(line, from) !== null && /\bgmail\b/i.test(line);
  return words.every(isSaid) ? emoji : null;
}

function emojiIn(part: Buffer): string | null {
  try {
    const { version, emoji } = JSON.parse(part.toString("utf8")) as { version?: unknown; emoji?: unknown };
    return version === 1 && typeof emoji === "string" && isEmoji(emoji) ? emoji : null;
  } catch {
    return null;
  }
}

/** Outlook's form: a picture, and beside or below it a sentence with the sender's name, in the sender's language, which ends with a colon. */
function ofOutlook([first = "", ...others]: readonly string[], from: MailHeaders["from"]): string | null {
  const [, sign = "", beside = ""] = /^\[(?:image: ?)?([a-z]+)\] ?(.*)$/i.exec(first) ?? [];
  const [sentence = "", ...more] = [beside, ...others].filter((line) => line !== "");
  if (more.length > 0 || !/[:：]$/.test(sentence)) return null;
  return afterName(sentence.slice(0, -1), from) === null ? null : (outlookSigns.get(sign.toLowerCase()) ?? null);
}

/** Form of RFC 9078: nothing but the sign. */
function ofDisposition(lines: readonly string[]): string | null {
  const [sign, ...others] = new Set(lines);
  return sign !== undefined && others.length === 0 && isEmoji(sign) ? sign : null;
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
/** True for one sign, also of a later Unicode version than this program's. */
const isEmoji = (text: string): boolean =>
  text.length <= 64 &&
  [...segmenter.segment(text)].length === 1 &&
  /\p{Extended_Pictographic}|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u.test(text);

/** A sign without the selector of its looks, which programs leave out. */
const plain = (sign: string): string => sign.replaceAll("\ufe0f", "");

/** Matches what follows a name in the sentence of a program, in any language: a few words that are one sentence. */
const fewWords = /^[^.,;:!?¡¿…。、，；：！？()]{0,40}[.。]?$/u;
/** Matches where a word goes on, in scripts with blanks between words. */
const withinWord = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}]{2}/u;

/** Returns what follows the sender's name at the beginning of a sentence; null if it begins otherwise, is long, or is more than one sentence. */
function afterName(sentence: string, from: MailHeaders["from"]): string | null {
  if (from === null) return null;
  const name = from.name || from.address.slice(0, from.address.lastIndexOf("@"));
  const known = [name, ...name.split(/[\s,"']+/)].filter((part) => part.length > 1);
  const begun = known.filter((part) => sentence.toLowerCase().startsWith(part.toLowerCase()));
  const ends = begun.map(({ length }) => length).filter((end) => !withinWord.test(sentence.slice(end - 1, end + 1)));
  return ends.map((end) => sentence.slice(end)).find((rest) => fewWords.test(rest)) ?? null;
}

/** Returns the lines with words, without the links that programs write beside their words. */
const linesOf = (text: string): string[] =>
  text
    .replace(/[<[]https?:\/\/[^\s<>[\]]{1,500}[>\]]/g, "")
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .filter((line) => line !== "");
