import { unreachable } from "#streams/unreachable.ts";
import type { DecisionRequest, Life, RecordedAuthorisation } from "./life.ts";
import { actorInWords, channelInWords } from "./people.ts";
import { listed, type Phrase, say } from "./phrases.ts";

/** Describes an authorisation as a clause: "version 2 was approved on … by …". */
export function wordInWords(word: RecordedAuthorisation): Phrase[] {
  const { version, at } = word;
  const approved = say`version ${version} was approved on ${{ at }}`;
  switch (word.by) {
    case "person":
    case "service":
      return say`${approved} by ${actorInWords(word.who)}`;
    case "people":
      return say`${approved} by the required number of approvers (${word.required})${word.given.length > 0 && say`: by ${votesInWords(word.given)}`}`;
    case "key":
      return byKey(word, approved);
    case "rule":
      return say`${approved} by ${actorInWords(word.who)}, not by a person`;
    case "setting":
      return say`${approved} by the identity's setting auto_approve_replies, not by a person`;
    default:
      return unreachable(word);
  }
}

function byKey({ who, how, version, at }: Extract<RecordedAuthorisation, { by: "key" }>, approved: Phrase[]): Phrase[] {
  switch (how) {
    case "approved":
      return say`${approved} by ${actorInWords(who)}`;
    case "sent":
      return say`${actorInWords(who)} sent version ${version} on ${{ at }}, on its own authority`;
    case "wrote":
      return say`${actorInWords(who)} wrote and sent it in one call on ${{ at }}, on its own authority`;
    case null:
      return say`version ${version} was authorised on ${{ at }} by ${actorInWords(who)}`;
    default:
      return unreachable(how);
  }
}

export const votesInWords = (given: Extract<RecordedAuthorisation, { by: "people" }>["given"]): Phrase[] =>
  listed(given.map(({ who, at }) => say`${actorInWords(who)} on ${{ at }}`));

/** Clause: to whom a version was shown before its decision, as far as a channel accepted the request. It is not known who read it. */
export function shownInWords(
  { questions }: Pick<Life, "questions">,
  { version, at }: Pick<RecordedAuthorisation, "version" | "at">,
) {
  const reached = (questions ?? []).filter(
    (question) => question.version === version && question.reachedAt !== null && question.reachedAt <= at,
  );
  if (reached.length === 0) return [];
  return say`, after the request for a decision had gone to ${listed(reached.map(reachedInWords))}`;
}

/** Clause: whose decision a version waits for. */
export function waitingForInWords({ questions, version }: Pick<Life, "questions" | "version">): Phrase[] {
  if (questions === null) return [];
  const asked = questions.filter((question) => question.version === version);
  if (asked.length === 0) return say`; no request for a decision has been made`;
  const reached = asked.filter(({ reachedAt, closed }) => reachedAt !== null && closed === null);
  if (reached.length > 0) return say`; the request went to ${listed(reached.map(reachedInWords))}`;
  return say`; ${listed(asked.map(unreachedInWords))}`;
}

const reachedInWords = ({ channel, reachedAt }: DecisionRequest): Phrase[] =>
  say`${channelInWords(channel)}${reachedAt !== null && say` on ${{ at: reachedAt }}`}`;

function unreachedInWords({ channel, askedAt, failure, closed }: DecisionRequest): Phrase[] {
  const request = say`the request to ${channelInWords(channel)}`;
  if (closed) return say`${request} was closed on ${{ at: closed.at }}`;
  if (failure) return say`${request} did not arrive: ${{ said: failure.error }}`;
  return say`${request} of ${{ at: askedAt }} has not been reported as delivered`;
}
