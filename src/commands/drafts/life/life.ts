import type { Vote as CountedVote, DraftStatus } from "#streams/draft/draft.ts";
import type { ApprovalRequest, DirectKind, EditReason, LinkClosure } from "#streams/draft/events.ts";
import type { Actor } from "#streams/event.ts";

/** That a provider was asked to take a mail. */
export type Started = { at: string; provider: string; version: number; contentSha256: string; mimeSha256: string };

/** How far an attempt to hand a mail over has come. `started` null: only its end is on record. Times are ISO strings. */
export type Handover =
  | { is: "none" }
  /** What is known here does not tell. */
  | { is: "untold" }
  | { is: "started"; started: Started }
  | { is: "abandoned"; at: string; because: string }
  | { is: "not handed over"; at: string; message: string }
  | { is: "accepted"; at: string; started: Started | null; response: string | null; refused: readonly string[] }
  | { is: "refused"; at: string; started: Started | null; message: string; isFinal: boolean }
  /** Nobody knows whether the provider took it. */
  | { is: "unknown"; at: string; started: Started | null; message: string };

/** What was told of a mail after the provider had taken it. */
export type Report = { type: ReportType; at: string; evidence: string };
type ReportType = "processed" | "delivered" | "dropped" | "bounced" | "complained";

/**
 * Whose word authorised a version. `person`: one, by a mail link, a chat or signed in, as the actor tells. `people`: several, or the keys among
 * them. `key`: a program; `how`: it approved, it sent what nobody had approved, or it wrote and sent it by one call; null where that is not known.
 * `rule` and `setting`: nobody decided. `service`: none of these is on record.
 */
export type Word = { at: string; version: number; contentSha256: string } & (
  | { by: "person" | "rule" | "service"; who: Actor }
  | { by: "people"; required: number; given: readonly Pick<Vote, "who" | "at">[] }
  | { by: "key"; who: Actor; how: "approved" | "sent" | "wrote" | null }
  | { by: "setting" }
);

/** A request for a decision that was made for a channel. Times are ISO strings. `reachedAt`: when the channel took it. */
export type Question = {
  id: string;
  version: number;
  channel: ApprovalRequest["channel"];
  askedAt: string;
  reachedAt: string | null;
  failure: { at: string; error: string; final: boolean } | null;
  closed: { at: string; because: LinkClosure } | null;
};

/** An approval that counts towards several, and who gave it when. */
export type Vote = CountedVote & { who: Actor; at: string };

/** The message that a draft went stale for. What it says of itself is null where the log of the draft alone is known. */
export type NewerMessage = { id: string | null; from: string | null; receivedAt: string | null };

/** What a draft's history proves, as far as it goes. */
export type Life = {
  status: DraftStatus;
  kind: "draft" | DirectKind;
  /** The id of the key that wrote what it says, and sent it by that same call; null for what was not made so. */
  wroteAndSent: string | null;
  version: number;
  contentSha256: string;
  /** Why there is this version; null for the first. */
  madeBecause: EditReason | null;
  /** Since when this version has had no approval, or had none before its end; null if that is not known here. */
  waitingSince: string | null;
  /** Whom it goes to, hidden copies included; null if the content was not looked up. */
  recipients: readonly string[] | null;
  /** Everything that was asked, of all versions, in order; null if that is not known here. */
  questions: readonly Question[] | null;
  /** Approvals of this version while they are too few. `required`: as many as were asked for; null before the first. */
  votes: readonly Vote[];
  required: number | null;
  /** Whose word authorised this version; null while there is none. */
  word: Word | null;
  /** It leaves as soon as it may; null if that is not known here. */
  sendRequested: boolean | null;
  /** ISO time: it leaves no earlier, so that who approved can take that back; null if it may leave at once. */
  sendAfter: string | null;
  /** An approval that no longer holds, after which nobody has decided. `who`: who took their own back; null if it ended otherwise. */
  takenBack: { at: string; who: Actor | null; because: string } | null;
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
