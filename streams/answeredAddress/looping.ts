import { Rejected } from "../decider.ts";
import type { AnsweredAddressEvent } from "./events.ts";

type Answer = AnsweredAddressEvent["data"];

/** An answer that was sent. `isQuick`: its message came within a minute after the answer before; `isCounted`: it counts for the limits. */
export type SentAnswer = { messageId: string; at: string; isQuick: boolean; isCounted: boolean };

/** The answers of the last day, oldest first: at most `mostAnswers`, of which those that do not count go first. */
export type AnsweredAddress = { answers: readonly SentAnswer[] };

/** At most `count` answers within `seconds`. */
export type AnswerLimit = { count: number; seconds: number };

/** Longest span of a limit, in seconds, and the number of answers that are kept at most. A limit allows fewer. */
export const longestSpan = 86_400;
export const mostAnswers = 200;

/** Milliseconds after an answer within which only a program, or somebody who waits at a screen, writes again. */
const quickMs = 60_000;
/** Number of quick messages after each other from which the answers to them count. */
const quickRun = 3;

const timeOf = ({ at }: { at: string }): number => Date.parse(at);

const within = (answers: readonly SentAnswer[], seconds: number, at: string): SentAnswer[] =>
  answers.filter((each) => Date.parse(at) - timeOf(each) < seconds * 1000);

/**
 * True unless the answered message came before every answer of the last day, as a customer's mails do that waited together. What came after
 * any of them may be its echo: a program that sends two mails for each of ours makes more of them each time.
 */
export function maySpringFromOurs({ answers }: AnsweredAddress, { at, receivedAt }: Answer): boolean {
  const first = within(answers, longestSpan, at)[0];
  return first === undefined || receivedAt > first.at;
}

/**
 * Adds an answer. It counts if no key decided it, or if its message has a sign of a machine. An answer of a key to a message without one
 * counts from the third quick message running on; then those before in the run count too, with the answer that began it.
 */
export function withAnswer({ answers }: AnsweredAddress, answer: Answer): AnsweredAddress {
  const { at, by, messageId, receivedAt } = answer;
  const before = answers.findLast((each) => each.at < receivedAt);
  const isQuick = before !== undefined && Date.parse(receivedAt) - timeOf(before) < quickMs;
  const added = { messageId, at, isQuick, isCounted: by === "grant" || answer.isMachine === true };
  return { answers: bounded(withRunCounted([...within(answers, longestSpan, at), added])) };
}

/** Keeps the answers that count before others: what a key sends must not make those of a rule be forgotten. */
function bounded(answers: readonly SentAnswer[]): readonly SentAnswer[] {
  let excess = answers.length - mostAnswers;
  if (excess <= 0) return answers;
  return answers.filter(({ isCounted }) => isCounted || excess-- <= 0).slice(-mostAnswers);
}

/** Counts the newest run of quick answers, and the one that began it, if the run is long enough. */
function withRunCounted(answers: readonly SentAnswer[]): readonly SentAnswer[] {
  const start = answers.findLastIndex(({ isQuick }) => !isQuick);
  if (answers.length - 1 - start < quickRun) return answers;
  return answers.map((answer, index) => (index < start ? answer : { ...answer, isCounted: true }));
}

/**
 * Refuses an answer, the newest of these, that would be one too many. Throws Rejected loop_guarded, with the time from which every limit
 * allows one more.
 */
export function requireBelow(
  { answers }: AnsweredAddress,
  { limits, at }: { limits: readonly AnswerLimit[]; at: string },
): void {
  if (answers.at(-1)?.isCounted !== true) return;
  const counted = answers.filter(({ isCounted }) => isCounted);
  const exceeded = limits.flatMap(({ count, seconds }) => {
    const oldest = within(counted, seconds, at).at(-1 - count);
    return oldest === undefined ? [] : [{ count, seconds, endsAt: timeOf(oldest) + seconds * 1000 }];
  });
  if (exceeded.length === 0) return;
  const { count, seconds, endsAt } = exceeded.reduce((last, each) => (each.endsAt > last.endsAt ? each : last));
  const ends = new Date(endsAt).toISOString();
  throw new Rejected(
    "loop_guarded",
    `${count} answers to this address were sent within ${spanOf(seconds)} that no person approved, which is the limit: let a person approve this one, or send it after ${ends}`,
    { ends_at: ends },
  );
}

const spanOf = (seconds: number): string => {
  if (seconds === 3_600) return "an hour";
  return seconds === 86_400 ? "a day" : `${seconds} seconds`;
};
