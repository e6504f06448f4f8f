import { mayHoldToken } from "./readings.ts";
import { type RunPlaces, tokenRuns } from "./tokenRuns.ts";

/** Maximum number of runs that are looked up for one mail; each costs an index look-up. */
const maxRuns = 1_000;
/**
 * Maximum number of attachment bytes of one mail that are searched in all readings, about two seconds of work. Only parts that may contain
 * a token count. Parsing is aborted after ten.
 */
const maxReadBytes = 8 * 1024 * 1024;

/** The runs found in one mail. */
export type RunList = {
  found: string[];
  /** Adds the runs of a text to the list and returns their places. */
  placesIn(text: string): RunPlaces;
  /**
   * Adds the runs of a part of an attachment, without places. Returns false if it was not searched because the mail's limit is reached.
   */
  lookThrough(part: string): boolean;
  /** Ends the search for tokens: the list is then incomplete. */
  giveUp(): void;
  /** True if further runs are not looked up, or further parts not searched. */
  isOverfull(): boolean;
  /** Records a file that cannot be searched. */
  addClosed(): void;
  hasClosed(): boolean;
};

export function createList(): RunList {
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
  const placesIn = (text: string): RunPlaces =>
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
