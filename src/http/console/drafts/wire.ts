import { singleAuthorisation } from "#src/commands/drafts/life/authorisation.ts";
import type { DraftLife, Handover, RecordedAuthorisation } from "#src/commands/drafts/life/life.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { Actor } from "#streams/event.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { WireHistoryEntry } from "../../present/histories.ts";

/** Free-form JSON and contents, whose field names are not converted. */
const verbatim = ["metadata", "content"];

/** Converts an event of GET …/history. */
export const fromWire = ({ type, data, at, actor, position }: WireHistoryEntry): LifeEvent =>
  ({ type, data: camelCased(data), at, actor: camelCased(actor) as Actor, position }) as LifeEvent;

const camelCased = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      verbatim.includes(name) ? value : inside(value),
    ]),
  );

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inside);
  return typeof value === "object" && value !== null ? camelCased(value as Record<string, unknown>) : value;
}

/** The life of a draft as far as the draft itself shows it, for people who may not read histories; unknown parts are null. */
export function lifeOfDraft(draft: WireDraft): DraftLife {
  const {
    status,
    version,
    content_sha256: contentSha256,
    decided_at: decidedAt,
    notification_status: notified,
  } = draft;
  const rejected = decidedAt !== null && status === "rejected" && draft.decided_by;
  return {
    status,
    kind: draft.kind,
    wroteAndSent: null,
    version,
    contentSha256,
    madeBecause: null,
    waitingSince: version === 1 ? draft.created_at : null,
    recipients: [...draft.to, ...draft.cc, ...draft.bcc],
    questions: null,
    expiredAt: notified.state === "expired" ? notified.at : null,
    votes: status === "pending" ? votesOf(draft) : [],
    required: draft.approvals.required,
    changesRequested: changesOf(draft),
    authorisation: authorisationOfDraft(draft),
    sendRequested: null,
    sendAfter: null,
    takenBack: null,
    held: draft.held_code === null ? null : { at: null, code: draft.held_code, message: null },
    queued: null,
    handover: handoverOf(draft),
    reports: [],
    sentAt: draft.sent_at,
    rejected: rejected
      ? { at: decidedAt, who: actorOf(rejected), version: rejected.version, reason: draft.reason }
      : null,
    stale: { at: null, newer: { id: draft.newer_message_id, from: null, receivedAt: null } },
    failed:
      draft.failure_code === null
        ? null
        : { at: null, code: draft.failure_code, message: draft.failure_message ?? "", beforeAnyAttempt: false },
    lateEvidence: null,
  };
}

/** The hand-over, judged by status and failure code alone: a failed mail may have been sent. */
const handoverOf = ({ status, failure_code }: WireDraft): Handover =>
  status === "sending" || failure_code === "unconfirmed" || failure_code === "internal"
    ? { is: "untold" }
    : { is: "none" };

const votesOf = ({ approvals }: WireDraft): DraftLife["votes"] =>
  approvals.given.map(({ by, at }, index) => ({
    voter: String(index),
    place: null,
    sendRequested: false,
    who: actorOf(by),
    at,
  }));

function authorisationOfDraft(draft: WireDraft): RecordedAuthorisation | null {
  const { decided_by: by, decided_at: at, approvals } = draft;
  if (by === null || at === null || by.decision !== "approve") return null;
  const about = { at, version: by.version, contentSha256: by.content_sha256 };
  if (approvals.required > 1) return { ...about, by: "people", required: approvals.required, given: votesOf(draft) };
  return { ...about, ...singleAuthorisation(actorOf(by), null) };
}

/** The actor of a decision or approval in the answer about a draft. */
export const actorOf = (by: { kind: string; id: string; name?: string; channel?: string; email?: string }): Actor => ({
  kind: by.kind as Actor["kind"],
  id: by.id,
  ...(by.name !== undefined && { name: by.name }),
  ...(by.channel !== undefined && { channel: by.channel }),
  ...(by.email !== undefined && { email: by.email }),
});

function changesOf({ changes_requested: requested }: WireDraft): DraftLife["changesRequested"] {
  if (requested === null) return null;
  const { at, by, text, version } = requested;
  return { at, who: actorOf(by), text, version };
}
