import PostalMime from "postal-mime";
import { cappedForParser, parserOptions } from "../capped.ts";
import { decodeWords } from "../mime/encodedWords.ts";
import type { ParsedAttachment } from "../parsedMail.ts";
import { mayHoldToken } from "./readings.ts";
import { type MailRuns, noPlaces, type Places, tokenRuns, withoutRuns } from "./tokenRuns.ts";

type Bodies = { bodyText: string | null; bodyHtml: string | null; extractedText: string };

/** Looked up for one mail: each costs a look into an index. */
const maxRuns = 1_000;
/** Mails inside mails inside a mail. */
const maxDepth = 5;
/** Long attachments are read in parts that overlap by more than the longest way to write a link. */
const partBytes = 64 * 1024;
const overlapBytes = 8 * 1024;
/** Of the parts of attachments that may hold a token, so much of one mail is read in all readings: two seconds' work. A mail is given up after ten. */
const maxReadBytes = 8 * 1024 * 1024;

/** A mail: as it came, its attachments, and whether something of it was left out before. */
type Whole = { raw: Buffer; attachments: readonly ParsedAttachment[]; isCut: boolean };

/** Looks through a mail's bodies, then through its header, its attachments that are text or mails, and what no part of it shows. */
export async function runsInMail(
  { bodyText, bodyHtml, extractedText }: Bodies,
  { raw, attachments, isCut }: Whole,
): Promise<Bodies & { links: MailRuns }> {
  const list = createList();
  const places = {
    text: list.placesIn(bodyText ?? ""),
    html: list.placesIn(bodyHtml ?? ""),
    extracted: list.placesIn(extractedText),
  };
  const tooMany = list.isOverfull();
  lookThroughHeader(raw, list);
  lookThroughAsItCame(raw, list);
  const looked = await lookedThrough(attachments, { list, depth: 0 });
  const links = {
    found: list.found,
    places: tooMany ? noPlaces : places,
    tooMany,
    unchecked: isCut || !looked || list.isOverfull(),
  };
  if (!tooMany) return { bodyText, bodyHtml, extractedText, links };
  return {
    bodyText: bodyText && withoutRuns(bodyText, places.text),
    bodyHtml: bodyHtml && withoutRuns(bodyHtml, places.html),
    extractedText: withoutRuns(extractedText, places.extracted),
    links,
  };
}

type List = {
  found: string[];
  /** Those of a text are put on the list. */
  placesIn(text: string): Places;
  /** The same for a part of an attachment, of whose places nothing is wanted. */
  lookThrough(part: string): void;
  /** More is not looked up, or not looked through. */
  isOverfull(): boolean;
};

function createList(): List {
  const found: string[] = [];
  const indexOf = new Map<string, number>();
  let overfull = false;
  let readBytes = 0;
  const indexFor = (run: string): number => {
    const known = indexOf.get(run);
    if (known !== undefined) return known;
    if (found.length === maxRuns) overfull = true;
    else indexOf.set(run, found.push(run) - 1);
    return indexOf.get(run) ?? -1;
  };
  const placesIn = (text: string): Places =>
    tokenRuns(text).flatMap(({ run, start, end }) => [start, end, indexFor(run)]);
  return {
    found,
    placesIn,
    lookThrough(part) {
      if (!mayHoldToken(part)) return;
      readBytes += part.length;
      if (readBytes > maxReadBytes) overfull = true;
      else placesIn(part);
    },
    isOverfull: () => overfull,
  };
}

type Looking = { list: List; depth: number };

/** False where something could not be looked through. */
async function lookedThrough(attachments: readonly ParsedAttachment[], looking: Looking): Promise<boolean> {
  let all = true;
  for (const { contentType, filename, bytes } of attachments) {
    if (looking.list.isOverfull()) return false;
    const isMail = /^message\/(?:rfc822|global)$/i.test(contentType) || /\.eml$/i.test(filename ?? "");
    if (isMail) all = (await lookedThroughMail(bytes, looking)) && all;
    else if (isText(contentType, bytes)) lookThroughText(bytes, looking.list);
  }
  return all;
}

async function lookedThroughMail(raw: Buffer, { list, depth }: Looking): Promise<boolean> {
  if (depth === maxDepth) return false;
  try {
    const { bytes, cut } = cappedForParser(raw);
    const inside = await PostalMime.parse(bytes.buffer, parserOptions);
    lookThroughHeader(raw, list);
    lookThrough(inside.text ?? "", list);
    lookThrough(inside.html ?? "", list);
    const attachments = inside.attachments.map(({ mimeType: contentType, filename, content }) => ({
      ...{ contentType, filename, contentId: null, inline: false },
      bytes: Buffer.from(content as ArrayBuffer),
    }));
    return (await lookedThrough(attachments, { list, depth: depth + 1 })) && cut === null;
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

function lookThrough(text: string, list: List): void {
  for (let at = 0; at < text.length && !list.isOverfull(); at += partBytes) {
    list.lookThrough(text.slice(at, at + partBytes + overlapBytes));
  }
}

/** Without the zeros of UTF-16: what is looked for is ASCII. */
function lookThroughText(bytes: Buffer, list: List): void {
  for (let at = 0; at < bytes.length && !list.isOverfull(); at += partBytes) {
    list.lookThrough(bytes.toString("latin1", at, at + partBytes + overlapBytes).replaceAll("\0", ""));
  }
}
