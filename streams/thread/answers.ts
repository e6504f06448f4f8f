import { Rejected } from "../decider.ts";

/** A mail of ours that is on its way or was sent. `after`: the filing number of the newest mail on the thread when its send was claimed. */
export type Answer = { draftId: string; after: number };

/** Answers before the newest 50 are forgotten: a draft waits for a decision about the newest message. */
const maxAnswers = 50;

/** The answers with those that are not among them yet: a further attempt is no further answer. */
export const withAnswers = (known: readonly Answer[], added: readonly Answer[]): readonly Answer[] =>
  [...known, ...added.filter(({ draftId }) => known.every((each) => each.draftId !== draftId))].slice(-maxAnswers);

/** The other drafts that were claimed for sending after the message that a draft answers had come. */
export const otherAnswers = (
  { answers }: { answers: readonly Answer[] },
  { draftId, basedOnNumber }: { draftId: string; basedOnNumber: number },
): string[] =>
  answers.filter((each) => each.draftId !== draftId && each.after >= basedOnNumber).map((each) => each.draftId);

/**
 * Refuses a send whose approval does not know of each answer that its message has. `answers` in the details: all there are. Throws Rejected
 * answered_meanwhile.
 */
export function requireKnown(answers: readonly string[], knows: readonly string[]): void {
  if (answers.every((draftId) => knows.includes(draftId))) return;
  const sentence = "the message was answered after this draft was approved: its approvers are asked again";
  throw new Rejected("answered_meanwhile", sentence, { answers });
}
