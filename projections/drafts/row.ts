import type { ContentOrigin, DraftContent, HtmlRemoved } from "#streams/draft/content.ts";
import type { Decision, DraftEvent, Quorum } from "#streams/draft/events.ts";
import { type StoredWarning, type VersionWarning, warnedOfLimit } from "#streams/draft/warnings.ts";
import { type Actor, idOf, type Metadata, type Recorded } from "#streams/event.ts";
import {
  addApproval,
  countedApprovals,
  type GivenApproval,
  noApprovals,
  removeApprovals,
  soleApprover,
} from "./approvals.ts";
import { type StoredAssignee, storedAssignee } from "./assignee.ts";
import { answered, applyChangesRequest, type ShownChangesRequest } from "./changesRequest.ts";
import { draftTypes } from "./draftTypes.ts";
import { applyNotification, noNotification, type ShownQuestion, withoutRetry } from "./notification.ts";

/** The decision about a draft: by whom, and about which version. */
export type DecidedBy = Omit<Actor, "userAgent" | "requestId"> & {
  decision: Decision;
  version: number;
  content_sha256: string;
  user_agent?: string;
  request_id?: string;
};

/** A draft as stored in the read model. Times are ISO strings while projected, Dates when read back. */
export type DraftRow = {
  id: string;
  workspace_id: string;
  thread_id: string;
  identity_id: string;
  /** Operation that created it: `draft` if it was submitted as a draft. */
  kind: string;
  based_on_message_id: string | null;
  based_on_number: number;
  message_id: string;
  status: string;
  version: number;
  content_sha256: string;
  content: DraftContent | null;
  content_blob: string | null;
  html_removed: HtmlRemoved[];
  /** True if the text part was derived from the HTML. */
  text_derived: boolean;
  rationale: string | null;
  metadata: Record<string, unknown> | null;
  stale_warning: boolean;
  /** Warnings that belong to its version. */
  version_warnings: StoredWarning[];
  auto_approved: boolean | null;
  reason: string | null;
  decided_by: DecidedBy | null;
  decided_at: string | Date | null;
  /** Approvals of this version: all if several were required, else the one. A rule or a setting is not listed. */
  approvals_given: GivenApproval[];
  /** Number of approvals that its approval required; null while it has none. */
  approvals_required: number | null;
  /** null if no changes were requested, or the request was withdrawn. */
  changes_requested: ShownChangesRequest | null;
  /** The member to whom it was last assigned; shown while it is pending (assignee.ts). */
  assigned_to: StoredAssignee | null;
  /** Time until which the approver can take the approval back, and the draft is not sent; null otherwise. */
  undo_until: string | Date | null;
  sent_at: string | Date | null;
  failure_code: string | null;
  failure_message: string | null;
  held_code: string | null;
  /** Notification that the next four fields describe; null before the version's first one. */
  notification_asked: ShownQuestion | null;
  notification_state: string;
  notification_channel: string | null;
  notification_at: string | Date | null;
  notification_error: string | null;
  /** Time since which it waits for a decision; for a decided one, since which it last did. */
  pending_since: string | Date;
  /** Time since which its newest version first waited for a decision; null if it has not. */
  version_pending_since: string | Date | null;
  /** True if the secondary channel was asked about this version. */
  escalated: boolean;
  /** Position of its newest event in the log. */
  changed_position: number;
  created_at: string | Date;
  updated_at: string | Date;
};

export const draftColumns = [
  "id",
  "workspace_id",
  "thread_id",
  "identity_id",
  "kind",
  "based_on_message_id",
  "based_on_number",
  "message_id",
  "status",
  "version",
  "content_sha256",
  "content",
  "content_blob",
  "html_removed",
  "text_derived",
  "rationale",
  "metadata",
  "stale_warning",
  "version_warnings",
  "auto_approved",
  "reason",
  "decided_by",
  "decided_at",
  "approvals_given",
  "approvals_required",
  "changes_requested",
  "assigned_to",
  "undo_until",
  "sent_at",
  "failure_code",
  "failure_message",
  "held_code",
  "notification_asked",
  "notification_state",
  "notification_channel",
  "notification_at",
  "notification_error",
  "pending_since",
  "version_pending_since",
  "escalated",
  "changed_position",
  "created_at",
  "updated_at",
] as const;

/** `warnings` is absent in events from before these were stored. */
const madeAs = ({ htmlRemoved, textDerived, warnings }: ContentOrigin & { warnings?: VersionWarning[] }) => ({
  html_removed: htmlRemoved,
  text_derived: textDerived === true,
  version_warnings: warnings ?? ["not_examined" as const],
});

const decided = (
  row: DraftRow,
  { decision, version, contentSha256 }: { decision: Decision; version: number; contentSha256: string },
  { actor, at }: Metadata,
): DraftRow => {
  const { userAgent, requestId, ...who } = actor;
  const by: DecidedBy = { ...who, decision, version, content_sha256: contentSha256 };
  if (userAgent !== undefined) by.user_agent = userAgent;
  if (requestId !== undefined) by.request_id = requestId;
  return { ...row, decided_by: by, decided_at: at };
};

type ApprovalData = { version: number; contentSha256: string; quorum?: Quorum; sendAfter?: string };

const approved = (row: DraftRow, data: ApprovalData, meta: Metadata): DraftRow => {
  const { version, contentSha256, quorum, sendAfter = null } = data;
  return {
    ...decided(row, { decision: "approve", version, contentSha256 }, meta),
    undo_until: sendAfter,
    approvals_given: quorum ? countedApprovals(row.approvals_given, quorum) : soleApprover(meta),
    approvals_required: quorum?.required ?? 1,
  };
};

function submitted(
  id: string,
  data: Extract<DraftEvent, { type: "DraftSubmitted" }>["data"],
  meta: Metadata,
): DraftRow {
  const row: DraftRow = {
    id,
    workspace_id: data.workspaceId,
    thread_id: data.threadId,
    identity_id: data.identityId,
    kind: data.kind ?? "draft",
    based_on_message_id: data.basedOnMessageId,
    based_on_number: data.basedOnNumber,
    message_id: data.messageId,
    status: data.autoApproved ? "approved" : "pending",
    version: 1,
    content_sha256: data.contentSha256,
    content: data.content,
    content_blob: data.contentBlob,
    ...madeAs(data),
    rationale: data.rationale,
    metadata: data.metadata,
    stale_warning: data.staleWarning,
    auto_approved: data.autoApproved ? true : null,
    reason: null,
    decided_by: null,
    decided_at: null,
    ...noApprovals,
    changes_requested: null,
    assigned_to: null,
    undo_until: null,
    sent_at: null,
    failure_code: null,
    failure_message: null,
    held_code: null,
    ...noNotification,
    pending_since: meta.at,
    version_pending_since: data.autoApproved || data.approvedAtOnce ? null : meta.at,
    escalated: false,
    changed_position: 0,
    created_at: meta.at,
    updated_at: meta.at,
  };
  if (!data.autoApproved) return row;
  const auto = { ...meta, actor: { kind: "auto" as const, id: data.identityId } };
  return approved(row, { version: 1, contentSha256: data.contentSha256 }, auto);
}

const undecided = { decided_by: null, decided_at: null, held_code: null, status: "pending", ...noApprovals };

/** Returns the draft to pending, keeping only the others' approvals if some of several fell. */
function returned(row: DraftRow, { withdrawn, lapsed }: { withdrawn?: string; lapsed?: string[] }): DraftRow {
  const fallen = lapsed ?? (withdrawn === undefined ? undefined : [withdrawn]);
  return { ...row, ...undecided, approvals_given: fallen ? removeApprovals(row.approvals_given, fallen) : [] };
}

/** Applies an event to a draft's row. Also used to show a draft as it was at an earlier time. */
export function applyToDraft(row: DraftRow | undefined, event: Recorded<DraftEvent>): DraftRow {
  if (row && !draftTypes.includes(event.type)) return row;
  const applied = withoutUndo(applyEvent(row, event));
  return { ...withoutRetry(applyNotification(applied, event)), changed_position: event.position };
}

/** Clears undo_until unless the draft is approved and no send of it was held. */
const withoutUndo = (row: DraftRow): DraftRow =>
  row.status === "approved" && row.held_code === null ? row : { ...row, undo_until: null };

function applyEvent(row: DraftRow | undefined, event: Recorded<DraftEvent>): DraftRow {
  const { metadata: meta } = event;
  const id = idOf(event.stream);
  if (event.type === "DraftSubmitted") return submitted(id, event.data, meta);
  if (!row) throw new Error(`${event.type} before DraftSubmitted on draft ${id}`);
  const next = { ...row, updated_at: meta.at };
  switch (event.type) {
    case "DraftEdited": {
      const { version, content, contentBlob, contentSha256, rationale } = event.data;
      return {
        ...next,
        ...undecided,
        version,
        content,
        content_blob: contentBlob,
        ...madeAs(event.data),
        content_sha256: contentSha256,
        rationale,
        changes_requested: event.data.because === "edit" ? answered(row.changes_requested) : row.changes_requested,
        pending_since: meta.at,
        version_pending_since: event.data.approvedAtOnce ? null : meta.at,
        escalated: false,
      };
    }
    case "DraftEscalated":
      return { ...next, escalated: true };
    case "ApprovalGiven":
      return { ...next, approvals_given: addApproval(row.approvals_given, event.data, meta) };
    case "ChangesRequested":
    case "ChangesRequestWithdrawn":
    case "ChangesReminded":
      return applyChangesRequest(next, event);
    case "DraftAssigned":
      return { ...next, assigned_to: storedAssignee(event.data.assignee, meta) };
    case "DraftApproved":
      return { ...approved(next, event.data, meta), status: "approved" };
    case "DraftRejected":
      return {
        ...decided(next, { decision: "reject", version: event.data.version, contentSha256: row.content_sha256 }, meta),
        status: "rejected",
        reason: event.data.reason,
      };
    case "ApprovalWithdrawn":
      return { ...next, approvals_given: removeApprovals(row.approvals_given, [event.data.voter]) };
    case "DraftReturnedToPending": {
      const version_pending_since = row.version_pending_since ?? meta.at;
      const version_warnings = warnedOfLimit(row.version_warnings, event.data.because);
      return { ...returned(next, event.data), pending_since: meta.at, version_pending_since, version_warnings };
    }
    case "SendHeld":
      return { ...next, held_code: event.data.code };
    case "DraftQueued": {
      const queued = { ...next, status: "sending", held_code: null };
      // Sending a pending draft by key is that key's authorisation.
      if (row.decided_by !== null) return queued;
      return approved(queued, event.data, meta);
    }
    case "DraftMarkedStale":
      return { ...next, status: "stale" };
    case "DraftSent":
      return { ...next, status: "sent", sent_at: event.data.sentAt };
    case "DraftFailed":
      return { ...next, status: "failed", failure_code: event.data.code, failure_message: event.data.message };
    case "LateEvidence":
      return { ...next, failure_message: `the provider's later word: ${event.data.outcome}` };
    default:
      return next;
  }
}
