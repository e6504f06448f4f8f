import { unreachable } from "#streams/unreachable.ts";
import { authorisationInWords, expiryInWords, shownInWords, votesInWords, waitingForInWords } from "./approvalWords.ts";
import {
  isCaught,
  mayHaveLeft,
  progressInWords,
  recipientsInWords,
  refusedInWords,
  reportsInWords,
  wayInWords,
} from "./handoverWords.ts";
import type { DraftLife } from "./life.ts";
import { actorInWords } from "./people.ts";
import { joinPhrases, type Phrase } from "./phrases.ts";

/** Explains in one sentence why a draft was or was not sent, from recorded facts only. */
export function explainDraft(life: DraftLife): Phrase[] {
  switch (life.status) {
    case "pending":
      return pending(life);
    case "approved":
      return approved(life);
    case "sending":
      return underWay(life);
    case "sent":
      return sent(life);
    case "stale":
      return stale(life);
    case "rejected":
      return rejected(life);
    case "failed":
      return failed(life);
    default:
      return unreachable(life.status);
  }
}

function pending(life: DraftLife): Phrase[] {
  const { version, waitingSince, votes, required, takenBack, changesRequested } = life;
  if (changesRequested !== null) {
    const { who, at, text } = changesRequested;
    return joinPhrases`Not sent: ${actorInWords(who)} asked for changes to version ${changesRequested.version} on ${{ at }}: ${{ said: text }}`;
  }
  const given =
    votes.length > 0 &&
    joinPhrases`; ${votes.length}${required !== null && ` of ${required}`} approvals given, by ${votesInWords(votes)}`;
  const waiting =
    waitingSince === null
      ? joinPhrases`waits for a decision`
      : joinPhrases`has waited for a decision since ${{ at: waitingSince }}`;
  const why = takenBack
    ? takenBack.who
      ? joinPhrases`, when its approval was undone by ${actorInWords(takenBack.who)}`
      : joinPhrases`, when its approval was undone: ${{ said: takenBack.because }}`
    : madeByService(life);
  return joinPhrases`Not sent: version ${version} ${waiting}${why}${waitingForInWords(life)}${expiryInWords(life)}${given}.`;
}

function madeByService({ madeBecause }: DraftLife): Phrase[] {
  switch (madeBecause) {
    case null:
    case "edit":
      return [];
    case "identity_changed":
      return joinPhrases`, when the service made it because the identity had changed`;
    default:
      return unreachable(madeBecause);
  }
}

function approved(life: DraftLife): Phrase[] {
  const { held, sendRequested, sendAfter } = life;
  if (held) {
    const since = held.at !== null && joinPhrases` since ${{ at: held.at }}`;
    return joinPhrases`Not sent: ${approval(life)}, but its sending is held${since} (${{ exact: held.code }})${held.message !== null && joinPhrases`: ${{ said: held.message }}`}.`;
  }
  if (sendRequested && sendAfter !== null)
    return joinPhrases`Not sent yet: ${approval(life)}, and it is not sent before ${{ at: sendAfter }}.`;
  if (sendRequested === null) return joinPhrases`Not sent: ${approval(life)}.`;
  return sendRequested
    ? joinPhrases`Not sent yet: ${approval(life)}, and it has not been queued since.`
    : joinPhrases`Not sent: ${approval(life)}, and it has not been sent since.`;
}

/** Returns a clause that says who approved which version and to whom the version was shown. */
const approval = (life: DraftLife): Phrase[] =>
  life.authorisation === null
    ? joinPhrases`it was authorised`
    : joinPhrases`${authorisationInWords(life.authorisation)}${shownInWords(life, life.authorisation)}`;

/** Returns a clause that says who sent the draft, if that was not the one who approved it. */
function sender({ queued, authorisation }: DraftLife): Phrase[] {
  if (!queued || (queued.who.kind !== "api_key" && queued.who.kind !== "session")) return [];
  if (authorisation?.by === "key" && authorisation.how !== "approved") return [];
  const decidedIt =
    authorisation !== null &&
    "who" in authorisation &&
    authorisation.who.kind === queued.who.kind &&
    authorisation.who.id === queued.who.id;
  if (decidedIt && authorisation.at === queued.at) return [];
  return joinPhrases`; ${actorInWords(queued.who)} sent it on ${{ at: queued.at }}`;
}

function underWay(life: DraftLife): Phrase[] {
  if (life.handover.is === "accepted") return sent({ ...life, sentAt: life.handover.at });
  const opening = mayHaveLeft(life.handover) ? joinPhrases`Possibly sent` : joinPhrases`Not sent yet`;
  return joinPhrases`${opening}: ${approval(life)}${sender(life)}; ${progressInWords(life.handover)}.`;
}

function sent(life: DraftLife): Phrase[] {
  const { handover, sentAt } = life;
  const when = sentAt !== null && joinPhrases` on ${{ at: sentAt }}`;
  const left = isCaught(handover)
    ? joinPhrases`Caught in the test outbox, which delivers nothing,${when}; it was addressed${recipientsInWords(life)}`
    : joinPhrases`Sent${recipientsInWords(life)}${wayInWords(handover)}${when}`;
  return joinPhrases`${left}, because ${approval(life)}${sender(life)}${refusedInWords(life)}${reportsInWords(life.reports)}.`;
}

/** Returns a clause that says who had authorised a send that was stopped. */
const afterApproval = (life: DraftLife): Phrase[] =>
  life.authorisation === null ? [] : joinPhrases`; ${authorisationInWords(life.authorisation)}`;

function stale(life: DraftLife): Phrase[] {
  const { at = null, newer } = life.stale ?? {};
  const from = newer?.from && joinPhrases` from ${{ exact: newer.from }}`;
  const received = newer?.receivedAt && joinPhrases`, received on ${{ at: newer.receivedAt }},`;
  const which = newer?.id && !newer.from && joinPhrases` (${{ exact: newer.id }})`;
  const stopped = at !== null && joinPhrases`, so it was stopped on ${{ at }}`;
  return joinPhrases`Not sent: a newer message${from || null}${which || null}${received || null} had arrived in its conversation${stopped}${afterApproval(life)}.`;
}

function rejected(life: DraftLife): Phrase[] {
  const { rejected: decision, stale: before } = life;
  if (decision === null) return joinPhrases`Not sent: it was rejected.`;
  const why = decision.reason
    ? joinPhrases`, with the reason ${{ said: decision.reason }}`
    : joinPhrases`, without a reason`;
  const wasStale = before?.at && joinPhrases`; a newer message had stopped it on ${{ at: before.at }}`;
  return joinPhrases`Not sent: version ${decision.version} was rejected on ${{ at: decision.at }} by ${actorInWords(decision.who)}${why}${wasStale || null}.`;
}

function failed(life: DraftLife): Phrase[] {
  const { failed: end, handover, lateEvidence } = life;
  if (end === null) return joinPhrases`Not sent: it failed.`;
  const { at, code, message } = end;
  const ended = at !== null && joinPhrases` on ${{ at }}`;
  const why = joinPhrases`it ended as failed${ended} (${{ exact: code }}): ${{ said: message }}`;
  if (lateEvidence) return joinPhrases`${late(life, lateEvidence)}; before that, ${why}${afterApproval(life)}.`;
  if (handover.is === "accepted")
    return joinPhrases`Accepted by the provider on ${{ at: handover.at }}, although ${why}${afterApproval(life)}.`;
  if (handover.is === "untold" && code !== "unconfirmed")
    return joinPhrases`Possibly sent: ${why}${afterApproval(life)}.`;
  if (mayHaveLeft(handover) || code === "unconfirmed")
    return joinPhrases`It is not known whether it was sent: ${why}${afterApproval(life)}.`;
  if (end.beforeAnyAttempt)
    return joinPhrases`Not sent: it was withdrawn before any attempt to send it; ${why}${afterApproval(life)}.`;
  if (code === "approval_withdrawn")
    return joinPhrases`Not sent: when it was about to be sent, its approval was no longer valid; ${why}${afterApproval(life)}.`;
  return joinPhrases`Not sent: ${why}${afterApproval(life)}.`;
}

const late = (
  { recipients, handover, reports }: DraftLife,
  { at, outcome }: NonNullable<DraftLife["lateEvidence"]>,
): Phrase[] =>
  outcome === "accepted"
    ? joinPhrases`Sent${recipientsInWords({ recipients, handover })}, as evidence of ${{ at }} shows${reportsInWords(reports)}`
    : joinPhrases`Not sent, as evidence of ${{ at }} shows`;
