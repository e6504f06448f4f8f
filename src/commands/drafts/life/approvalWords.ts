import { unreachable } from "#streams/unreachable.ts";
import type { DecisionRequest, DraftLife, RecordedAuthorisation } from "./life.ts";
import { actorInWords, channelInWords } from "./people.ts";
import { joinPhrases, listInWords, type Phrase } from "./phrases.ts";

/** Describes an authorisation as a clause: "version 2 was approved on … by …". */
export function authorisationInWords(authorisation: RecordedAuthorisation): Phrase[] {
  const { version, at } = authorisation;
  const approved = joinPhrases`version ${version} was approved on ${{ at }}`;
  switch (authorisation.by) {
    case "person":
    case "service":
      return joinPhrases`${approved} by ${actorInWords(authorisation.who)}`;
    case "people":
      return joinPhrases`${approved} by the required number of approvers (${authorisation.required})${authorisation.given.length > 0 && joinPhrases`: by ${votesInWords(authorisation.given)}`}`;
    case "key":
      return byKey(authorisation, approved);
    case "rule":
      return joinPhrases`${approved} by ${actorInWords(authorisation.who)}, not by a person`;
    case "setting":
      return joinPhrases`${approved} by the identity's setting auto_approve_replies, not by a person`;
    default:
      return unreachable(authorisation);
  }
}

function byKey({ who, how, version, at }: Extract<RecordedAuthorisation, { by: "key" }>, approved: Phrase[]): Phrase[] {
  switch (how) {
    case "approved":
      return joinPhrases`${approved} by ${actorInWords(who)}`;
    case "sent":
      return joinPhrases`${actorInWords(who)} sent version ${version} on ${{ at }}, on its own authority`;
    case "wrote":
      return joinPhrases`${actorInWords(who)} wrote and sent it in one call on ${{ at }}, on its own authority`;
    case null:
      return joinPhrases`version ${version} was authorised on ${{ at }} by ${actorInWords(who)}`;
    default:
      return unreachable(how);
  }
}

export const votesInWords = (given: Extract<RecordedAuthorisation, { by: "people" }>["given"]): Phrase[] =>
  listInWords(given.map(({ who, at }) => joinPhrases`${actorInWords(who)} on ${{ at }}`));

/**
 * Returns a clause that says which channels accepted the request about a version before its decision. It does not say who read the request,
 * because that is unknown.
 */
export function shownInWords(
  { questions }: Pick<DraftLife, "questions">,
  { version, at }: Pick<RecordedAuthorisation, "version" | "at">,
) {
  const reached = (questions ?? []).filter(
    (question) => question.version === version && question.reachedAt !== null && question.reachedAt <= at,
  );
  if (reached.length === 0) return [];
  return joinPhrases`, after the request for a decision had gone to ${listInWords(reached.map(reachedInWords))}`;
}

/** Returns a clause that says that nobody decided in time; empty if the requests have not expired. */
export const expiryInWords = ({ expiredAt }: Pick<DraftLife, "expiredAt">): Phrase[] =>
  expiredAt === null
    ? []
    : joinPhrases`; the requests had expired by ${{ at: expiredAt }}, and nobody is asked again by itself`;

/** Returns a clause that says whose decision a version waits for. */
export function waitingForInWords({ questions, version }: Pick<DraftLife, "questions" | "version">): Phrase[] {
  if (questions === null) return [];
  const asked = questions.filter((question) => question.version === version);
  if (asked.length === 0) return joinPhrases`; no request for a decision has been made`;
  const reached = asked.filter(({ reachedAt, closed }) => reachedAt !== null && closed === null);
  if (reached.length > 0) return joinPhrases`; the request went to ${listInWords(reached.map(reachedInWords))}`;
  return joinPhrases`; ${listInWords(asked.map(unreachedInWords))}`;
}

const reachedInWords = ({ channel, reachedAt }: DecisionRequest): Phrase[] =>
  joinPhrases`${channelInWords(channel)}${reachedAt !== null && joinPhrases` on ${{ at: reachedAt }}`}`;

function unreachedInWords({ channel, askedAt, failure, closed }: DecisionRequest): Phrase[] {
  const request = joinPhrases`the request to ${channelInWords(channel)}`;
  if (closed) return joinPhrases`${request} was closed on ${{ at: closed.at }}`;
  if (failure) return joinPhrases`${request} did not arrive: ${{ said: failure.error }}`;
  return joinPhrases`${request} of ${{ at: askedAt }} has not been reported as delivered`;
}
