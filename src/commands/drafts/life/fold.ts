import { votesLeft, withoutVote, withVote } from "#streams/draft/quorum.ts";
import { reachedLimitIn } from "#streams/draft/warnings.ts";
import { authorisationOf, queuedAuthorisation } from "./authorisation.ts";
import { applyDelivery, notHandedOver } from "./handover.ts";
import type { DraftLife, GivenVote } from "./life.ts";
import type { LifeEvent } from "./lifeEvents.ts";
import { applyRequest } from "./requests.ts";

type Submitted = Extract<LifeEvent, { type: "DraftSubmitted" }>;

/**
 * Returns the life of a draft from its history, oldest event first. The history may be cut off after any event. Throws if the first event
 * is not the submission.
 */
export const foldLife = (history: readonly LifeEvent[]): DraftLife => foldEachEvent(history).at(-1) as DraftLife;

/** Returns the draft's life after each event of its history. Throws if the first event is not the submission. */
export function foldEachEvent(history: readonly LifeEvent[]): DraftLife[] {
  const [first, ...rest] = history;
  if (first?.type !== "DraftSubmitted") throw new Error("a draft's history begins with DraftSubmitted");
  const lives = [begun(first)];
  for (const event of rest) lives.push(after(lives.at(-1) as DraftLife, event));
  return lives;
}

function begun(event: Submitted): DraftLife {
  const { autoApproved, approvedAtOnce, contentSha256, content, kind = "draft" } = event.data;
  return {
    status: autoApproved ? "approved" : "pending",
    kind,
    wroteAndSent: approvedAtOnce && event.actor.kind === "api_key" ? event.actor.id : null,
    version: 1,
    contentSha256,
    madeBecause: null,
    waitingSince: event.at,
    recipients: recipientsOf(content),
    questions: [],
    expiredAt: null,
    votes: [],
    required: null,
    changesRequested: null,
    authorisation: autoApproved ? { by: "setting", at: event.at, version: 1, contentSha256 } : null,
    sendRequested: autoApproved,
    sendAfter: null,
    takenBack: null,
    held: null,
    queued: null,
    handover: notHandedOver,
    reports: [],
    sentAt: null,
    rejected: null,
    stale: null,
    failed: null,
    lateEvidence: null,
  };
}

const recipientsOf = (content: Submitted["data"]["content"]): string[] | null =>
  content && [...content.to, ...content.cc, ...content.bcc];

const unapproved = {
  authorisation: null,
  sendRequested: false,
  sendAfter: null,
  held: null,
  votes: [],
  required: null,
} as const;

function after(life: DraftLife, event: LifeEvent): DraftLife {
  const { at, actor: who } = event;
  switch (event.type) {
    case "DraftSubmitted":
      return life;
    case "DraftEdited": {
      const { version, contentSha256, content, because } = event.data;
      const made = { version, contentSha256, recipients: recipientsOf(content), madeBecause: because };
      return {
        ...life,
        ...unapproved,
        ...made,
        status: "pending",
        waitingSince: at,
        takenBack: null,
        expiredAt: null,
        ...(because === "edit" && { wroteAndSent: null, changesRequested: null }),
      };
    }
    case "ApprovalGiven": {
      const { required, place = null, ...vote } = event.data;
      return {
        ...life,
        required,
        votes: withVote(life.votes, { ...vote, place, who, at } as GivenVote) as GivenVote[],
      };
    }
    case "ChangesRequested": {
      const { text, version } = event.data;
      return { ...life, changesRequested: { at, who, text, version } };
    }
    case "ChangesRequestWithdrawn":
      return { ...life, changesRequested: null };
    case "ApprovalWithdrawn":
      return { ...life, votes: withoutVote(life.votes, event.data.voter) as GivenVote[] };
    case "DraftApproved": {
      const { sendRequested, sendAfter = null } = event.data;
      const leaves = { sendRequested, sendAfter, held: null };
      return { ...life, ...leaves, status: "approved", authorisation: authorisationOf(event, life), takenBack: null };
    }
    case "DraftReturnedToPending":
      return takenBack(life, event);
    case "DraftRejected":
      return { ...life, status: "rejected", rejected: { at, who, ...event.data } };
    case "SendHeld":
      return { ...life, held: { at, ...event.data } };
    case "DraftQueued": {
      const { version, contentSha256 } = event.data;
      const queued = { at, who, version, contentSha256 };
      return {
        ...life,
        status: "sending",
        authorisation: queuedAuthorisation(event, life),
        held: null,
        takenBack: null,
        queued,
      };
    }
    case "DraftRequeued":
      return { ...life, handover: notHandedOver };
    case "DraftMarkedStale":
      return {
        ...life,
        status: "stale",
        stale: { at, newer: { id: event.data.newMessageId, from: null, receivedAt: null } },
      };
    case "DraftSent":
      return { ...life, status: "sent", sentAt: event.data.sentAt };
    case "DraftFailed": {
      const { code, message, attemptId } = event.data;
      return { ...life, status: "failed", failed: { at, code, message, beforeAnyAttempt: attemptId === null } };
    }
    case "LateEvidence":
      return { ...life, lateEvidence: { at, outcome: event.data.outcome } };
    case "RequestsExpired":
      return { ...life, expiredAt: at };
    case "ApproversAsked":
      return { ...life, expiredAt: null, questions: applyRequest(life.questions ?? [], event) };
    case "ApproversNotified":
    case "NotificationFailed":
    case "ApprovalLinkClosed":
      return { ...life, questions: applyRequest(life.questions ?? [], event) };
    case "DraftRulesBegun":
    case "DraftRulesApplied":
    case "DraftEscalated":
    case "NotifyRequested":
    case "RequestsRepeated":
    case "ConfirmCodeRefused":
    case "ChangesReminded":
    case "DraftAssigned":
    case "SendClaimed":
    case "SendClaimReleased":
    case "SendAbandoned":
      return life;
    default:
      return { ...life, ...applyDelivery(life, event) };
  }
}

/** Describes why a draft returned to pending. */
export const returnedBecause = (because: string): string =>
  because === "answered_meanwhile"
    ? "its message was answered after it was approved"
    : (reachedLimitIn(because) ?? because);

/**
 * Applies the return of a draft to pending. If only one person's approval was undone or lapsed with their role, the approvals of others
 * stay.
 */
function takenBack(
  life: DraftLife,
  { at, actor, data }: Extract<LifeEvent, { type: "DraftReturnedToPending" }>,
): DraftLife {
  const { because, withdrawn, lapsed } = data;
  const votes = votesLeft(life.votes, data);
  const others = (withdrawn ?? lapsed) ? { votes, required: life.required } : {};
  const back = { at, who: withdrawn === undefined ? null : actor, because: returnedBecause(because) };
  return { ...life, ...unapproved, ...others, status: "pending", waitingSince: at, takenBack: back };
}
