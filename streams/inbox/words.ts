import type { Classification } from "./events.ts";

/**
 * Whether a mail is somebody's word: a person wrote it, alone or to a list. A word makes the drafts stale that answer an older one, and
 * sets rules and webhooks in motion; a machine's mail (an automatic reply, a bounce) does neither. This table is the only place that says so.
 */
const isSaidBySomebody: Readonly<Record<Classification, boolean>> = {
  person: true,
  list: true,
  auto_reply: false,
  bounce: false,
};

const classes = Object.keys(isSaidBySomebody) as Classification[];
const words: readonly string[] = classes.filter((each) => isSaidBySomebody[each]);
const machines: readonly string[] = classes.filter((each) => !isSaidBySomebody[each]);

/** `classification` null: a mail of ours, which is neither a word nor a machine's. */
export const isWord = (classification: string | null): boolean =>
  classification !== null && words.includes(classification);

export const isMachines = (classification: string | null): boolean =>
  classification !== null && machines.includes(classification);

/** The same as isWord as a condition in SQL, on a column that holds a classification. */
export const isWordSql = (column: string): string => `${column} in (${words.map((each) => `'${each}'`).join(", ")})`;

/** Whether a mail sets rules and webhooks in motion: somebody's word, and not a blocked contact's. */
export const isNews = ({
  classification,
  fromBlocked,
}: {
  classification: string | null;
  fromBlocked: boolean;
}): boolean => isWord(classification) && !fromBlocked;
