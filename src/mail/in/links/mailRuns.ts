import { cappedForParser } from "../capped.ts";
import { contentsOf } from "../mime/contents.ts";
import { textOfPart } from "../mime/decodedPart.ts";
import { decodeWords } from "../mime/encodedWords.ts";
import type { ParsedAttachment } from "../parsedMail.ts";
import { type ContainedFile, filesInside } from "./containers.ts";
import { createList, type RunList } from "./runList.ts";
import { type MailRuns, noPlaces, withoutRuns } from "./tokenRuns.ts";
import type { UnpackRoom } from "./zip.ts";

type BodyTexts = { bodyText: string | null; bodyHtml: string | null; extractedText: string };

/** Maximum number of levels of mails and files nested in each other. */
const maxDepth = 5;
/** Maximum number of bytes unpacked from the archives of one mail; equals the size limit of a mail. */
const maxUnpackedBytes = 32 * 1024 * 1024;
const maxUnpackedFiles = 1_000;
/** Long attachments are read in parts of this many bytes, which overlap by more than the longest form of a link. */
const partBytes = 64 * 1024;
const overlapBytes = 8 * 1024;

/** A mail: its original bytes, its attachments, and whether something was cut from it before. */
type WholeMail = { raw: Buffer; attachments: readonly ParsedAttachment[]; isCut: boolean };

/** Searches a mail's bodies, its header, its attachments with their contents, and the bytes that no part shows. */
export function runsInMail(
  { bodyText, bodyHtml, extractedText }: BodyTexts,
  { raw, attachments, isCut }: WholeMail,
): BodyTexts & { links: MailRuns } {
  const list = createList();
  const places = {
    text: list.placesIn(bodyText ?? ""),
    html: list.placesIn(bodyHtml ?? ""),
    extracted: list.placesIn(extractedText),
  };
  const tooMany = list.isOverfull();
  lookThroughHeader(raw, list);
  lookThroughAsItCame(raw, list);
  const room = { bytes: maxUnpackedBytes, files: maxUnpackedFiles };
  const looked = lookedThrough(attachments, { list, room, depth: 0 });
  const links = {
    found: list.found,
    places: tooMany ? noPlaces : places,
    tooMany,
    unchecked: isCut || !looked || list.isOverfull(),
    hasClosed: list.hasClosed(),
  };
  if (!tooMany) return { bodyText, bodyHtml, extractedText, links };
  return {
    bodyText: bodyText && withoutRuns(bodyText, places.text),
    bodyHtml: bodyHtml && withoutRuns(bodyHtml, places.html),
    extractedText: withoutRuns(extractedText, places.extracted),
    links,
  };
}

type SearchState = { list: RunList; room: UnpackRoom; depth: number };

/** Searches the files. Returns false if a file that should have been searched could not be. */
function lookedThrough(files: readonly ContainedFile[], looking: SearchState): boolean {
  let all = true;
  for (const file of files) {
    if (looking.list.isOverfull()) return false;
    const isMail = /^message\/(?:rfc822|global)$/i.test(file.contentType) || /\.eml$/i.test(file.filename ?? "");
    all = (isMail ? lookedThroughMail(file.bytes, looking) : lookedThroughFile(file, looking)) && all;
  }
  return all;
}

function lookedThroughFile(file: ContainedFile, { list, room, depth }: SearchState): boolean {
  lookThroughBytes(file, list);
  const inside = filesInside(file, room);
  if (inside === undefined || (inside.length > 0 && depth === maxDepth)) list.addClosed();
  else return lookedThrough(inside, { list, room, depth: depth + 1 });
  return true;
}

function lookedThroughMail(raw: Buffer, { list, room, depth }: SearchState): boolean {
  if (depth === maxDepth) return false;
  try {
    const { bytes, cut } = cappedForParser(raw);
    const { texts, files } = contentsOf(Buffer.from(bytes.buffer), { maxAttachments: maxUnpackedFiles });
    lookThroughHeader(raw, list);
    for (const part of texts) lookThrough(textOfPart(part).text, list);
    return lookedThrough(files, { list, room, depth: depth + 1 }) && cut === null;
  } catch {
    return false;
  }
}

/** Matches fields of hashes and signatures. Many hashes look like a token, and each token costs a look-up. */
const signatures = /^(?:[\w-]*(?:dkim|arc-|signature)[\w-]*):.*(?:\r?\n[ \t].*)*/gim;
const maxHeaderBytes = 256 * 1024;

/** Searches the header (subject, names, ids, fields of gateways), in its raw form and with encoded words decoded. */
function lookThroughHeader(raw: Buffer, list: RunList): void {
  const end = Math.min(headerEnd(raw), maxHeaderBytes);
  const header = raw.toString("latin1", 0, end).replace(signatures, "");
  lookThrough(header, list);
  if (header.includes("=?")) lookThrough(decodeWords(header.replace(/\r?\n[ \t]+/g, " ")), list);
}

const tails = /\/(?:[al]\/[\w-]{43}|stop\/[\w-]{20,1000}\.[\w-]{32})/g;
const longestHost = 300;

/** Searches for readable addresses anywhere in the raw mail, even before its first part and after its last, which no parser shows. */
function lookThroughAsItCame(raw: Buffer, list: RunList): void {
  const known = new Set<string>();
  for (let at = 0; at < raw.length && !list.isOverfull(); at += partBytes) {
    const part = raw.toString("latin1", at, at + partBytes + overlapBytes);
    for (const { 0: tail, index } of part.matchAll(tails)) {
      if (known.has(tail) || !part.slice(Math.max(0, index - longestHost), index).includes("://")) continue;
      known.add(tail);
      list.placesIn(tail);
      if (list.isOverfull()) return;
    }
  }
}

const headerEnd = (raw: Buffer): number => {
  const end = Math.min(...["\n\r\n", "\n\n"].map((blank) => raw.indexOf(blank)).filter((at) => at >= 0));
  return Math.min(end, raw.length);
};

/** True for text, even under a type that does not say so, unless its first bytes show that it is something else. */
function isText(contentType: string, bytes: Buffer): boolean {
  const isWide = bytes[0] === 0xff || bytes[0] === 0xfe;
  return /^(?:text|message)\//i.test(contentType) || isWide || !bytes.subarray(0, 1024).includes(0);
}

/** Signatures of PDF, PNG, JPEG, GIF, WebP, TIFF, BMP. */
const drawn = /^(?:%PDF-|\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|II\*\0|MM\0\*|BM....\0\0\0\0)/s;

function lookThrough(text: string, list: RunList): void {
  for (let at = 0; at < text.length && !list.isOverfull(); at += partBytes) {
    if (!list.lookThrough(text.slice(at, at + partBytes + overlapBytes))) list.giveUp();
  }
}

/** Matches a single zero byte: in UTF-16 every second byte of ASCII text is zero, in either byte order. */
const wideZeros = /(?<!\0)\0(?!\0)/g;
/**
 * Matches the longest run of a token that survives one break anywhere. Nearly no binary file contains one, and this test takes a tenth of
 * the time of a full search.
 */
const wordsInBinary = /[\w%&#;-]{20}|(?:[\w%&#;-]\0){20}/;

/** Searches the bytes of a file as Latin-1 and as UTF-16. In pictures and PDF, which draw their words, only whole addresses count. */
function lookThroughBytes({ contentType, bytes }: ContainedFile, list: RunList): void {
  if (drawn.test(bytes.toString("latin1", 0, 16))) return void lookThroughAsItCame(bytes, list);
  const isWords = isText(contentType, bytes);
  for (let at = 0; at < bytes.length && !list.isOverfull(); at += partBytes) {
    const part = bytes.toString("latin1", at, at + partBytes + overlapBytes);
    if (!isWords && !wordsInBinary.test(part)) continue;
    const isRead = list.lookThrough(part) && (!part.includes("\0") || list.lookThrough(part.replace(wideZeros, "")));
    if (isRead) continue;
    if (isWords) list.giveUp();
    else list.addClosed();
    return;
  }
}
