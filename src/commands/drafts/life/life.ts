import type { DraftStatus } from "#streams/draft/draft.ts";
import type { DirectKind, EditReason, LinkClosure } from "#streams/draft/events.ts";
import type { Actor } from "#streams/event.ts";
import type { Handover, Report } from "./handover.ts";
import { applyDelivery, notHandedOver } from "./handover.ts";
import type { LifeEvent } from "./lifeEvents.ts";
import { applyQuestion } from "./questions.ts";
import { queuedWord, type Word, wordOf } from "./words.ts";

/** A request for a decision that was made for a channel. Times are ISO strings. `reachedAt`: when the channel took it. */
export type Question = {
  id: string;
  version: number;
  /** `address`: a mailbox, or how a chat is told from others; null if the log does not tell. */
  channel: { slot: "primary" | "secondary"; type: string; address: string | null };
  askedAt: string;
  reachedAt: string | null;
  failure: { at: string; error: string; final: boolean } | null;
  closed: { at: string; because: LinkClosure } | null;
};

/** An approval that counts towards several. */
export type Vote = { voter: string; place: string | null; who: Actor; at: string };

/** The message that a draft went stale for. What it says of itself is null where the log of the draft alone is known. */
export type NewerMessage = { id: string | null; from: string | null; receivedAt: string | null };

/** What a draft's history proves, as far as it goes. */
export type Life = {
  status: DraftStatus;
  kind: "draft" | DirectKind;
  /** A key wrote it and sent it by one call, as its own authorisation. */
  approvedAtOnce: boolean;
  version: number;
  contentSha256: string;
  /** Why there is this version; null for the first. */
  madeBecause: EditReason | null;
  /** Since when this version has had no approval, or had none before its end. */
  waitingSince: string;
  /** Whom it goes to, hidden copies included; null if the content was not looked up. */
  recipients: readonly string[] | null;
  /** Everything that was asked, of all versions, in order; null if that is not known here. */
  questions: readonly Question[] | null;
  /** Approvals of this version while they are too few. `required`: as many as were asked for; null before the first. */
  votes: readonly Vote[];
  required: number | null;
  /** Whose word it is that authorised this version; null while nobody's does. */
  word: Word | null;
  /** It leaves as soon as it may. */
  sendRequested: boolean;
  /** An approval that no longer holds, after which nobody has decided. */
  takenBack: { at: string; because: string } | null;
  held: { at: string | null; code: string; message: string | null } | null;
  queued: { at: string; who: Actor; version: number; contentSha256: string } | null;
  /** The newest attempt to hand it over. */
  handover: Handover;
  reports: readonly Report[];
  sentAt: string | null;
  rejected: { at: string; who: Actor; version: number; reason: string | null } | null;
  stale: { at: string | null; newer: NewerMessage } | null;
  failed: { at: string | null; code: string; message: string; beforeAnyAttempt: boolean } | null;
  lateEvidence: { at: string; outcome: "accepted" | "refused" } | null;
};

type Submitted = Extract<LifeEvent, { type: "DraftSubmitted" }>;

/** A draft's life from its history, oldest first. It may end anywhere: then it is the life up to there. Throws if it does not begin with the submission. */
export function lifeOf(history: readonly LifeEvent[]): Life {
  const [first, ...rest] = history;
  if (first?.type !== "DraftSubmitted") throw new Error("a draft's history begins with DraftSubmitted");
  return rest.reduce(after, begun(first));
}

function begun(event: Submitted): Life {
  const { autoApproved, approvedAtOnce = false, contentSha256, content, kind = "draft" } = event.data;
  return {
    status: autoApproved ? "approved" : "pending",
    kind,
    approvedAtOnce,
    version: 1,
    contentSha256,
    madeBecause: null,
    waitingSince: event.at,
    recipients: recipientsOf(content),
    questions: [],
    votes: [],
    required: null,
    word: autoApproved ? { by: "setting", at: event.at, version: 1, contentSha256 } : null,
    sendRequested: autoApproved,
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

const unapproved = { word: null, sendRequested: false, held: null, votes: [], required: null } as const;

function after(life: Life, event: LifeEvent): Life {
  const { at, actor: who } = event;
  switch (event.type) {
    case "DraftSubmitted":
      return life;
    case "DraftEdited": {
      const { version, contentSha256, content, because } = event.data;
      const made = { version, contentSha256, recipients: recipientsOf(content), madeBecause: because };
      return { ...life, ...unapproved, ...made, status: "pending", waitingSince: at, takenBack: null };
    }
    case "ApprovalGiven": {
      const { voter, place = null, required } = event.data;
      return { ...life, required, votes: withVote(life.votes, { voter, place, who, at }) };
    }
    case "ApprovalWithdrawn":
      return { ...life, votes: life.votes.filter(({ voter }) => voter !== event.data.voter) };
    case "DraftApproved": {
      const { sendRequested } = event.data;
      return { ...life, status: "approved", word: wordOf(event, life), sendRequested, held: null, takenBack: null };
    }
    case "DraftReturnedToPending":
      return {
        ...life,
        ...unapproved,
        status: "pending",
        waitingSince: at,
        takenBack: { at, because: event.data.because },
      };
    case "DraftRejected":
      return { ...life, status: "rejected", rejected: { at, who, ...event.data } };
    case "SendHeld":
      return { ...life, held: { at, ...event.data } };
    case "DraftQueued": {
      const { version, contentSha256 } = event.data;
      const queued = { at, who, version, contentSha256 };
      return { ...life, status: "sending", word: queuedWord(event, life), held: null, takenBack: null, queued };
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
    case "ApproversAsked":
    case "ApproversNotified":
    case "NotificationFailed":
    case "ApprovalLinkClosed":
      return { ...life, questions: applyQuestion(life.questions ?? [], event) };
    case "DraftRulesApplied":
    case "DraftEscalated":
    case "NotifyRequested":
    case "ConfirmCodeRefused":
    case "SendClaimed":
    case "SendClaimReleased":
    case "SendAbandoned":
      return life;
    default:
      return { ...life, ...applyDelivery(life, event) };
  }
}

/** Somebody who votes by name takes the place of a vote by a link into a chat of the same kind: it may have been theirs. */
const withVote = (votes: readonly Vote[], vote: Vote): Vote[] => [
  ...votes.filter(({ voter, place }) => {
    const isOfLink = place !== null && voter === `link:${place}`;
    return voter !== vote.voter && !(isOfLink && vote.place?.split(" ", 1)[0] === place.split(" ", 1)[0]);
  }),
  vote,
];
