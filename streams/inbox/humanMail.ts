import type { Classification } from "./events.ts";

/**
 * True for each class of mail that people write, directly or to a list. Such a mail makes drafts stale that answer an older one, and
 * triggers rules and webhooks; a machine's mail (an automatic reply, a bounce) does neither. Only this table says so.
 */
const isWrittenByPeople: Readonly<Record<Classification, boolean>> = {
  person: true,
  list: true,
  auto_reply: false,
  bounce: false,
};

const classes = Object.keys(isWrittenByPeople) as Classification[];
const humanClasses: readonly string[] = classes.filter((each) => isWrittenByPeople[each]);
const machineClasses: readonly string[] = classes.filter((each) => !isWrittenByPeople[each]);

/** True if people wrote the mail. `classification` null: a mail of ours, for which it is false. */
export const isFromPerson = (classification: string | null): boolean =>
  classification !== null && humanClasses.includes(classification);

export const isFromMachine = (classification: string | null): boolean =>
  classification !== null && machineClasses.includes(classification);

/** Returns isWord as an SQL condition on a column with a classification. */
export const isFromPersonSql = (column: string): string =>
  `${column} in (${humanClasses.map((each) => `'${each}'`).join(", ")})`;

/** True if a mail triggers rules and webhooks: people wrote it, and its sender is not a blocked contact. */
export const triggersRules = ({
  classification,
  fromBlocked,
}: {
  classification: string | null;
  fromBlocked: boolean;
}): boolean => isFromPerson(classification) && !fromBlocked;
