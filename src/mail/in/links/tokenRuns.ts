import { readingsOf, tokenLength } from "./readings.ts";

/** Characters that may be the token of an approval link, of a link to somebody's account, or of one that stops such mail (with a dot), and where they are in a text, however they are written there. */
export type TokenRun = { run: string; start: number; end: number };

/** What a link that stops the service's mail has, with a dot in it: whom it is about, and a mark. */
const stop = "(?<=/stop/)[\\w-]{20,1000}\\.[\\w-]{32}";
/** Nothing of base64url is around it; or it is where a link has its token, whatever follows. */
const runs = new RegExp(
  `${stop}|(?<![\\w-])[\\w-]{${tokenLength}}(?![\\w-])|(?<=/(?:[al]|confirm|reset|new-email|invitation)/)[\\w-]{${tokenLength}}`,
  "g",
);

/** An address as one gateway writes it: `_` for a slash, `-XX` for what others write `%XX`. */
const dashed = /urldefense\.proofpoint\.com\/v2\/url\?u=([\w.=-]+)/gi;

/** A whole address, from its `http` on, in base64 or as hexadecimal digits: other gateways put it so behind theirs. */
const wrapped = /aHR0c[\w+/-]{20,4000}|68747470[\da-fA-F]{80,4000}/g;

/** Every run in a text, in all readings of it, each at each of its places once. */
export function tokenRuns(text: string): TokenRun[] {
  const found: TokenRun[] = [];
  const known = new Set<string>();
  const note = (each: TokenRun): void => {
    const key = `${each.run} ${each.start} ${each.end}`;
    if (known.has(key)) return;
    known.add(key);
    found.push(each);
  };
  for (const reading of readingsOf(text)) {
    for (const { 0: run, index } of reading.text.matchAll(runs)) {
      note({ run, ...reading.origin(index, index + run.length) });
    }
    for (const { 0: whole, 1: address, index } of reading.text.matchAll(dashed)) {
      const place = reading.origin(index, index + whole.length);
      for (const [run] of undashed(address as string).matchAll(runs)) note({ run, ...place });
    }
    for (const { 0: whole, index } of reading.text.matchAll(wrapped)) {
      const place = reading.origin(index, index + whole.length);
      for (const [run] of unwrapped(whole).matchAll(runs)) note({ run, ...place });
    }
  }
  return found;
}

const undashed = (address: string): string =>
  address
    .replaceAll("_", "/")
    .replace(/-([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const unwrapped = (address: string): string =>
  Buffer.from(address, address.startsWith("6") ? "hex" : "base64").toString("latin1");

/** Three numbers a place: its start and end in a text, and the index of its run in a list. */
export type Places = readonly number[];

/** What in a mail may be the token of an approval link. Which of it is one the caller finds out: here nobody is asked. */
export type MailRuns = {
  /** Each once, so many at most. Those of the bodies come first. */
  found: string[];
  /** Where they are in the bodies, by their index in `found`. */
  places: { text: Places; html: Places; extracted: Places };
  /** The bodies had more than are looked up: what they show has none left. */
  tooMany: boolean;
  /** Not all of the mail was looked through. */
  unchecked: boolean;
  /** It has files that nobody can look through here: encrypted ones, archives of other formats or beyond the bounds, compressed text. */
  hasClosed: boolean;
};

export const noPlaces: MailRuns["places"] = { text: [], html: [], extracted: [] };
/** Of a mail of which nothing can be read. */
export const uncheckedRuns: MailRuns = {
  found: [],
  places: noPlaces,
  tooMany: false,
  unchecked: true,
  hasClosed: false,
};

const mark = "[approval link removed]";

/** The text with what is at these places taken out. `isRemoved` says of which runs; all by default. */
export function withoutRuns(text: string, places: Places, isRemoved: (index: number) => boolean = () => true): string {
  const removed: { start: number; end: number }[] = [];
  for (let at = 0; at < places.length; at += 3) {
    if (isRemoved(places[at + 2] as number))
      removed.push({ start: places[at] as number, end: places[at + 1] as number });
  }
  removed.sort((a, b) => a.start - b.start);
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of removed) {
    if (start >= from) pieces.push(text.slice(from, start), mark);
    from = Math.max(from, end);
  }
  return pieces.length === 0 ? text : pieces.join("") + text.slice(from);
}
