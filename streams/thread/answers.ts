import { Rejected } from "../decider.ts";

/**
 * A reply of ours that is being sent or was sent. `after`: the filing number of the newest mail on the thread when its send was claimed.
 */
export type ThreadAnswer = { draftId: string; after: number };

/** Answers remembered, at most: a draft waits for a decision about the newest message. */
const maxAnswers = 50;

/** Adds answers that are not known yet: another attempt is not another answer. */
export const withAnswers = (known: readonly ThreadAnswer[], added: readonly ThreadAnswer[]): readonly ThreadAnswer[] =>
  [...known, ...added.filter(({ draftId }) => known.every((each) => each.draftId !== draftId))].slice(-maxAnswers);

/** Returns the other drafts that were claimed for sending after the message that a draft answers had arrived. */
export const otherAnswers = (
  { answers }: { answers: readonly ThreadAnswer[] },
  { draftId, basedOnNumber }: { draftId: string; basedOnNumber: number },
): string[] =>
  answers.filter((each) => each.draftId !== draftId && each.after >= basedOnNumber).map((each) => each.draftId);

/**
 * Refuses a send if its approval does not know of every answer to its message. `answers` in the details: all of them. Throws Rejected
 * answered_meanwhile.
 */
export function requireKnownAnswers(answers: readonly string[], knows: readonly string[]): void {
  if (answers.every((draftId) => knows.includes(draftId))) return;
  const sentence = "the message was answered after this draft was approved: its approvers are asked again";
  throw new Rejected("answered_meanwhile", sentence, { answers });
}
