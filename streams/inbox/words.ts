import type { Classification } from "./events.ts";

/**
 * True for each class of mail that people write, directly or to a list. Such a mail makes drafts stale that answer an older one, and
 * triggers rules and webhooks; a machine's mail (an automatic reply, a bounce) does neither. Only this table says so.
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

/** True if people wrote the mail. `classification` null: a mail of ours, for which it is false. */
export const isWord = (classification: string | null): boolean =>
  classification !== null && words.includes(classification);

export const isMachines = (classification: string | null): boolean =>
  classification !== null && machines.includes(classification);

/** Returns isWord as an SQL condition on a column with a classification. */
export const isWordSql = (column: string): string => `${column} in (${words.map((each) => `'${each}'`).join(", ")})`;

/** True if a mail triggers rules and webhooks: people wrote it, and its sender is not a blocked contact. */
export const isNews = ({
  classification,
  fromBlocked,
}: {
  classification: string | null;
  fromBlocked: boolean;
}): boolean => isWord(classification) && !fromBlocked;
