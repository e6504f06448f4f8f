import { mayHoldToken } from "./readings.ts";
import { type Places, tokenRuns } from "./tokenRuns.ts";

/** Looked up for one mail: each costs a look into an index. */
const maxRuns = 1_000;
/** Bytes of the attachments of one mail that are read in all readings, of the parts that may hold a token: two seconds' work. A mail is given up after ten. */
const maxReadBytes = 8 * 1024 * 1024;

/** The runs found in one mail. */
export type List = {
  found: string[];
  /** Those of a text are put on the list. */
  placesIn(text: string): Places;
  /** The same for a part of an attachment, of whose places nothing is wanted. False if it was not read: too much of the mail was. */
  lookThrough(part: string): boolean;
  /** Reads no more. */
  giveUp(): void;
  /** More is not looked up, or not looked through. */
  isOverfull(): boolean;
  /** Notes a file that cannot be looked through. */
  addClosed(): void;
  hasClosed(): boolean;
};

export function createList(): List {
  const found: string[] = [];
  const indexOf = new Map<string, number>();
  let overfull = false;
  let closed = false;
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
      if (!mayHoldToken(part)) return true;
      readBytes += part.length;
      if (readBytes > maxReadBytes) return false;
      placesIn(part);
      return true;
    },
    giveUp() {
      overfull = true;
    },
    isOverfull: () => overfull,
    addClosed() {
      closed = true;
    },
    hasClosed: () => closed,
  };
}
