import { decodeText } from "./charsets.ts";
import { decodeBase64, decodeQuotedPrintable } from "./transferEncodings.ts";

/** Matches `=?charset?encoding?text?=`; the charset may name a language after a `*`. */
const encodedWord = /=\?([^?\s]{1,100})\?([qb])\?([^?]*)\?=/gi;

type EncodedWord = { charset: string; bytes: Buffer };

/**
 * Decodes the encoded words of a header's value. Adjacent words of one charset are decoded together: a writer may have split them inside
 * a character.
 */
export function decodeWords(value: string): string {
  if (!value.includes("=?")) return value;
  const written: string[] = [];
  let [open, end]: [EncodedWord[], number] = [[], 0];
  const close = (): void => {
    written.push(...decoded(open));
    open = [];
  };
  for (const { 0: all, 1: charset = "", 2: encoding = "", 3: text = "", index } of value.matchAll(encodedWord)) {
    const between = value.slice(end, index);
    const isNext = open.length > 0 && /^[ \t\r\n]*$/.test(between);
    if (!isNext) {
      close();
      written.push(between);
    }
    open.push({ charset: charset.replace(/\*.*$/, "").toLowerCase(), bytes: bytesOf(text, encoding) });
    end = index + all.length;
  }
  close();
  return written.join("") + value.slice(end);
}

/** Decodes words; adjacent words of one charset are decoded together. */
function decoded(words: readonly EncodedWord[]): string[] {
  const groups: { charset: string; bytes: Buffer[] }[] = [];
  for (const { charset, bytes } of words) {
    const last = groups.at(-1);
    if (last?.charset === charset) last.bytes.push(bytes);
    else groups.push({ charset, bytes: [bytes] });
  }
  return groups.map(({ charset, bytes }) => decodeText(Buffer.concat(bytes), { label: charset }).text);
}

function bytesOf(text: string, encoding: string): Buffer {
  if (encoding.toLowerCase() === "b") return decodeBase64(Buffer.from(text, "latin1"));
  return decodeQuotedPrintable(Buffer.from(text.replaceAll("_", " ")));
}
