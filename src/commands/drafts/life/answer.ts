import { unreachable } from "#streams/unreachable.ts";
import { shownInWords, votesInWords, waitingForInWords, wordInWords } from "./approvalWords.ts";
import {
  isCaught,
  mayHaveLeft,
  progressInWords,
  recipientsInWords,
  refusedInWords,
  reportsInWords,
  wayInWords,
} from "./handoverWords.ts";
import type { Life } from "./life.ts";
import { actorInWords } from "./people.ts";
import { type Phrase, say } from "./phrases.ts";

/** Answers "Why was this sent?", or why not, in one sentence, using recorded facts only. */
export function answerOf(life: Life): Phrase[] {
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

function pending(life: Life): Phrase[] {
  const { version, waitingSince, votes, required, takenBack } = life;
  const given =
    votes.length > 0 &&
    say`; ${votes.length}${required !== null && ` of ${required}`} approvals given, by ${votesInWords(votes)}`;
  const waiting =
    waitingSince === null ? say`waits for a decision` : say`has waited for a decision since ${{ at: waitingSince }}`;
  const why = takenBack
    ? takenBack.who
      ? say`, when its approval was undone by ${actorInWords(takenBack.who)}`
      : say`, when its approval was undone: ${{ said: takenBack.because }}`
    : madeByService(life);
  return say`Not sent: version ${version} ${waiting}${why}${waitingForInWords(life)}${given}.`;
}

function madeByService({ madeBecause }: Life): Phrase[] {
  switch (madeBecause) {
    case null:
    case "edit":
      return [];
    case "identity_changed":
      return say`, when the service made it because the identity had changed`;
    default:
      return unreachable(madeBecause);
  }
}

function approved(life: Life): Phrase[] {
  const { held, sendRequested, sendAfter } = life;
  if (held) {
    const since = held.at !== null && say` since ${{ at: held.at }}`;
    return say`Not sent: ${approval(life)}, but its sending is held${since} (${{ exact: held.code }})${held.message !== null && say`: ${{ said: held.message }}`}.`;
  }
  if (sendRequested && sendAfter !== null)
    return say`Not sent yet: ${approval(life)}, and it is not sent before ${{ at: sendAfter }}.`;
  if (sendRequested === null) return say`Not sent: ${approval(life)}.`;
  return sendRequested
    ? say`Not sent yet: ${approval(life)}, and it has not been queued since.`
    : say`Not sent: ${approval(life)}, and it has not been sent since.`;
}

/** Clause: who approved which version, and whom it was shown to. */
const approval = (life: Life): Phrase[] =>
  life.word === null ? say`it was authorised` : say`${wordInWords(life.word)}${shownInWords(life, life.word)}`;

/** Clause: who sent a draft that another one had approved. */
function sender({ queued, word }: Life): Phrase[] {
  if (!queued || (queued.who.kind !== "api_key" && queued.who.kind !== "session")) return [];
  if (word?.by === "key" && word.how !== "approved") return [];
  const decidedIt =
    word !== null && "who" in word && word.who.kind === queued.who.kind && word.who.id === queued.who.id;
  if (decidedIt && word.at === queued.at) return [];
  return say`; ${actorInWords(queued.who)} sent it on ${{ at: queued.at }}`;
}

function underWay(life: Life): Phrase[] {
  if (life.handover.is === "accepted") return sent({ ...life, sentAt: life.handover.at });
  const opening = mayHaveLeft(life.handover) ? say`Possibly sent` : say`Not sent yet`;
  return say`${opening}: ${approval(life)}${sender(life)}; ${progressInWords(life.handover)}.`;
}

function sent(life: Life): Phrase[] {
  const { handover, sentAt } = life;
  const when = sentAt !== null && say` on ${{ at: sentAt }}`;
  const left = isCaught(handover)
    ? say`Caught in the test outbox, which delivers nothing,${when}; it was addressed${recipientsInWords(life)}`
    : say`Sent${recipientsInWords(life)}${wayInWords(handover)}${when}`;
  return say`${left}, because ${approval(life)}${sender(life)}${refusedInWords(life)}${reportsInWords(life.reports)}.`;
}

/** Clause for a send that was stopped: who had authorised it. */
const afterApproval = (life: Life): Phrase[] => (life.word === null ? [] : say`; ${wordInWords(life.word)}`);

function stale(life: Life): Phrase[] {
  const { at = null, newer } = life.stale ?? {};
  const from = newer?.from && say` from ${{ exact: newer.from }}`;
  const received = newer?.receivedAt && say`, received on ${{ at: newer.receivedAt }},`;
  const which = newer?.id && !newer.from && say` (${{ exact: newer.id }})`;
  const stopped = at !== null && say`, so it was stopped on ${{ at }}`;
  return say`Not sent: a newer message${from || null}${which || null}${received || null} had arrived in its conversation${stopped}${afterApproval(life)}.`;
}

function rejected(life: Life): Phrase[] {
  const { rejected: decision, stale: before } = life;
  if (decision === null) return say`Not sent: it was rejected.`;
  const why = decision.reason ? say`, with the reason ${{ said: decision.reason }}` : say`, without a reason`;
  const wasStale = before?.at && say`; a newer message had stopped it on ${{ at: before.at }}`;
  return say`Not sent: version ${decision.version} was rejected on ${{ at: decision.at }} by ${actorInWords(decision.who)}${why}${wasStale || null}.`;
}

function failed(life: Life): Phrase[] {
  const { failed: end, handover, lateEvidence } = life;
  if (end === null) return say`Not sent: it failed.`;
  const { at, code, message } = end;
  const ended = at !== null && say` on ${{ at }}`;
  const why = say`it ended as failed${ended} (${{ exact: code }}): ${{ said: message }}`;
  if (lateEvidence) return say`${late(life, lateEvidence)}; before that, ${why}${afterApproval(life)}.`;
  if (handover.is === "accepted")
    return say`Accepted by the provider on ${{ at: handover.at }}, although ${why}${afterApproval(life)}.`;
  if (handover.is === "untold" && code !== "unconfirmed") return say`Possibly sent: ${why}${afterApproval(life)}.`;
  if (mayHaveLeft(handover) || code === "unconfirmed")
    return say`It is not known whether it was sent: ${why}${afterApproval(life)}.`;
  if (end.beforeAnyAttempt)
    return say`Not sent: it was withdrawn before any attempt to send it; ${why}${afterApproval(life)}.`;
  if (code === "approval_withdrawn")
    return say`Not sent: when it was about to be sent, its approval was no longer valid; ${why}${afterApproval(life)}.`;
  return say`Not sent: ${why}${afterApproval(life)}.`;
}

const late = ({ recipients, handover, reports }: Life, { at, outcome }: NonNullable<Life["lateEvidence"]>): Phrase[] =>
  outcome === "accepted"
    ? say`Sent${recipientsInWords({ recipients, handover })}, as evidence of ${{ at }} shows${reportsInWords(reports)}`
    : say`Not sent, as evidence of ${{ at }} shows`;
