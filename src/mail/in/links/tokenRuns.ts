import { readingsOf, tokenLength } from "./readings.ts";

/**
 * Characters that may be the token of an approval link, an account link or (with a dot) an unsubscribe link, and their place in a text,
 * in whatever encoding.
 */
export type TokenRun = { run: string; start: number; end: number };

/** Matches the token of an unsubscribe link: the recipient, a dot, and a mark. */
const stop = "(?<=/stop/)[\\w-]{20,1000}\\.[\\w-]{32}";
/** Matches a token with no base64url character around it, or at the place of a link where its token is, whatever follows. */
const runs = new RegExp(
  `${stop}|(?<![\\w-])[\\w-]{${tokenLength}}(?![\\w-])|(?<=/(?:[al]|confirm|reset|new-email|invitation)/)[\\w-]{${tokenLength}}`,
  "g",
);

/** Matches an address as one gateway writes it: `_` for a slash, `-XX` for `%XX`. */
const dashed = /urldefense\.proofpoint\.com\/v2\/url\?u=([\w.=-]+)/gi;

/** Matches a whole address, beginning with `http`, in base64 or hexadecimal: other gateways append it to their own address. */
const wrapped = /aHR0c[\w+/-]{20,4000}|68747470[\da-fA-F]{80,4000}/g;

/** Finds the runs in every reading of a text (readings.ts). A run that two readings have at the same place is returned once. */
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

/** Three numbers per place: its start and end in a text, and the index of its run in a list. */
export type RunPlaces = readonly number[];

/** Runs in a mail that may be tokens of approval links. The caller looks them up; nothing is queried here. */
export type MailRuns = {
  /** Distinct runs, up to a limit. Runs from the bodies are first. */
  found: string[];
  /** Places of the runs in the bodies, by index in `found`. */
  places: { text: RunPlaces; html: RunPlaces; extracted: RunPlaces };
  /** The bodies had more runs than are looked up; all runs are then removed from what is shown. */
  tooMany: boolean;
  /** Part of the mail was not searched. */
  unchecked: boolean;
  /** The mail has files that cannot be searched: encrypted ones, unsupported or too large archives, compressed text. */
  hasClosed: boolean;
};

export const noPlaces: MailRuns["places"] = { text: [], html: [], extracted: [] };
/** The runs of a mail that could not be read at all. */
export const uncheckedRuns: MailRuns = {
  found: [],
  places: noPlaces,
  tooMany: false,
  unchecked: true,
  hasClosed: false,
};

const mark = "[approval link removed]";

/** Removes the text at these places. `isRemoved` selects the runs; default: all. */
export function withoutRuns(
  text: string,
  places: RunPlaces,
  isRemoved: (index: number) => boolean = () => true,
): string {
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
