import { cappedForParser } from "../capped.ts";
import { contentsOf } from "../mime/contents.ts";
import { textOfPart } from "../mime/decodedPart.ts";
import { decodeWords } from "../mime/encodedWords.ts";
import type { ParsedAttachment } from "../parsedMail.ts";
import { filesInside, type HeldFile } from "./containers.ts";
import { createList, type List } from "./runList.ts";
import { type MailRuns, noPlaces, withoutRuns } from "./tokenRuns.ts";
import type { Room } from "./zip.ts";

type Bodies = { bodyText: string | null; bodyHtml: string | null; extractedText: string };

/** Mails and files inside each other. */
const maxDepth = 5;
/** Unpacked from the archives of one mail, at most: as much as a mail may have. */
const maxUnpackedBytes = 32 * 1024 * 1024;
const maxUnpackedFiles = 1_000;
/** Long attachments are read in parts that overlap by more than the longest way to write a link. */
const partBytes = 64 * 1024;
const overlapBytes = 8 * 1024;

/** A mail: as it came, its attachments, and whether something of it was left out before. */
type Whole = { raw: Buffer; attachments: readonly ParsedAttachment[]; isCut: boolean };

/** Looks through a mail's bodies, then through its header, its attachments, what these hold, and what no part of it shows. */
export function runsInMail(
  { bodyText, bodyHtml, extractedText }: Bodies,
  { raw, attachments, isCut }: Whole,
): Bodies & { links: MailRuns } {
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

type Looking = { list: List; room: Room; depth: number };

/** False where something could not be looked through that should have been. */
function lookedThrough(files: readonly HeldFile[], looking: Looking): boolean {
  let all = true;
  for (const file of files) {
    if (looking.list.isOverfull()) return false;
    const isMail = /^message\/(?:rfc822|global)$/i.test(file.contentType) || /\.eml$/i.test(file.filename ?? "");
    all = (isMail ? lookedThroughMail(file.bytes, looking) : lookedThroughFile(file, looking)) && all;
  }
  return all;
}

function lookedThroughFile(file: HeldFile, { list, room, depth }: Looking): boolean {
  lookThroughBytes(file, list);
  const inside = filesInside(file, room);
  if (inside === undefined || (inside.length > 0 && depth === maxDepth)) list.addClosed();
  else return lookedThrough(inside, { list, room, depth: depth + 1 });
  return true;
}

function lookedThroughMail(raw: Buffer, { list, room, depth }: Looking): boolean {
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

/** Fields of hashes and signatures. Many a one looks like a token, and each would have to be looked up. */
const signatures = /^(?:[\w-]*(?:dkim|arc-|signature)[\w-]*):.*(?:\r?\n[ \t].*)*/gim;
const maxHeaderBytes = 256 * 1024;

/** A subject, names, ids, what gateways add: as it came, and with its encoded words decoded. */
function lookThroughHeader(raw: Buffer, list: List): void {
  const end = Math.min(headerEnd(raw), maxHeaderBytes);
  const header = raw.toString("latin1", 0, end).replace(signatures, "");
  lookThrough(header, list);
  if (header.includes("=?")) lookThrough(decodeWords(header.replace(/\r?\n[ \t]+/g, " ")), list);
}

const tails = /\/(?:[al]\/[\w-]{43}|stop\/[\w-]{20,1000}\.[\w-]{32})/g;
const longestHost = 300;

/** Addresses that are readable in the mail as it came, wherever they are: also before its first part and behind its last, which no parser shows. */
function lookThroughAsItCame(raw: Buffer, list: List): void {
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

/** Also under a type that says nothing of it, unless its beginning shows that it is none. */
function isText(contentType: string, bytes: Buffer): boolean {
  const isWide = bytes[0] === 0xff || bytes[0] === 0xfe;
  return /^(?:text|message)\//i.test(contentType) || isWide || !bytes.subarray(0, 1024).includes(0);
}

/** PDF, PNG, JPEG, GIF, WebP, TIFF, BMP. */
const drawn = /^(?:%PDF-|\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|II\*\0|MM\0\*|BM....\0\0\0\0)/s;

function lookThrough(text: string, list: List): void {
  for (let at = 0; at < text.length && !list.isOverfull(); at += partBytes) {
    if (!list.lookThrough(text.slice(at, at + partBytes + overlapBytes))) list.giveUp();
  }
}

/** A zero that stands alone: of UTF-16, in which the ASCII that is looked for has every second byte zero, in either order. */
const wideZeros = /(?<!\0)\0(?!\0)/g;
/** As much of a token as is in a row wherever it is broken once. Nearly no binary file has so much, and to see that takes a tenth of reading it. */
const wordsInBinary = /[\w%&#;-]{20}|(?:[\w%&#;-]\0){20}/;

/** Looks through the bytes of a file as Latin-1 and as UTF-16. Of a picture and of PDF, which draw their words, whole addresses alone. */
function lookThroughBytes({ contentType, bytes }: HeldFile, list: List): void {
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
