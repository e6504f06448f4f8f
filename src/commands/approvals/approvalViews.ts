import { draftById, type ReadDraft } from "#projections/drafts/queries.ts";
import {
  type HeldRow,
  type MessageRow,
  messageById,
  newerHeld,
  newerHumanMessage,
} from "#projections/messages/queries.ts";
import type { Reads } from "#projections/reads.ts";
import type {
  ApprovalsSoFar,
  ApprovalView,
  NewerMessage,
  OwnWarning,
  PreviousVersion,
  RecordedOutcome,
} from "#src/channels/approvalView.ts";
import { attachmentFacts } from "#src/channels/attachments/attachmentFacts.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { keysVoter } from "#streams/draft/quorum.ts";
import type { Recorded } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { loadThread } from "../threads/threads.ts";
import { messageShown, messageWithHints } from "./answeredMessage.ts";
import { ownerOfAddress } from "./approvalChannels.ts";
import {
  askedAgain,
  earlierVersion,
  lastShownVersion,
  pendingSince,
  reachedLimit,
  recentEvents,
} from "./draftVersions.ts";
import { requiresHuman } from "./humanApproval.ts";
import { otherAnswersToMessage } from "./otherAnswers.ts";
import { lapsedVoters, quorumOf } from "./voters.ts";

/** Builds the view of one version of a draft for its approver. The read models must have reached the draft's newest event. */
export async function approvalView(
  deps: Dependencies,
  { draftId, draft, version, expiresAt }: { draftId: string; draft: Draft; version: number; expiresAt: string },
): Promise<ApprovalView> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { events, isWhole } = await recentEvents(deps.store, draftId);
  const { stored, making, rationale } =
    version === draft.version ? draft : await earlierVersion(deps.store, draftId, version);
  const content = await loadContent(deps.blobs, stored);
  const { state: thread } = await loadThread(deps, draft.threadId);
  const { row, answered, newer, held } = await readRows(deps.reads, draftId, draft);
  const previous = await previousVersion(deps, events, version);
  const message = answered && (await messageWithHints(deps, { message: answered, identity }));
  const isHeld = held !== undefined && held.filing_number > (newer?.filing_number ?? 0);
  return {
    draftId,
    version,
    contentSha256: draft.contentSha256,
    status: draft.status,
    threadSubject: thread.subject,
    identity: { displayName: identity.displayName, address: identity.emailAddress },
    content,
    textDerived: making.textDerived === true,
    htmlRemoved: making.htmlRemoved,
    attachments: await attachmentFacts(deps.blobs, content.attachments),
    rationale,
    previous,
    answers: message?.shown ?? null,
    participants: thread.participants,
    repliesLeave: await repliesLeave(deps, draft.workspaceId, content.reply_to),
    warnings: [...(previous === null && !isWhole ? [editedTooOften] : []), ...(message?.notes ?? [])],
    hints: message?.hints ?? [],
    sendsOnApproval: identity.sendOnChannelApproval,
    humanRequired: await requiresHuman(deps, identity),
    editByChannel: identity.editByChannel,
    namedOnly: (await deps.workspaces.load(draft.workspaceId)).state.requireNamedApprovers,
    ...(row ? await otherAnswersToMessage(deps, row) : { answeredMeanwhile: null, otherDrafts: [] }),
    askedAgain: draft.status === "pending" ? askedAgain(events) : null,
    reachedLimit: version === draft.version ? reachedLimit(events) : null,
    newerMessage: isHeld ? heldMessage(held) : newer ? await newerMessage(deps, newer, identity) : null,
    approvals: row ? await approvalsSoFar(deps, identity, row) : null,
    ...requestedChanges(row),
    decided: row ? recordedOutcome(row) : null,
    expiresAt,
    escalatesAt: escalatesAt(identity, draft, events),
    shownAt: deps.clock.now().toISOString(),
  };
}

/** Returns true if replies go to an address that is not an active identity of this workspace. */
export const repliesLeave = async (deps: Dependencies, workspaceId: string, replyTo: string | null): Promise<boolean> =>
  replyTo !== null && (await ownerOfAddress(deps, replyTo)) !== workspaceId;

const editedTooOften: OwnWarning = {
  kind: "edited_often",
  sentence: "This draft changed many times, so the changes since an earlier request are not shown: read all of it.",
};

async function previousVersion(
  deps: Dependencies,
  events: readonly Recorded<DraftEvent>[],
  version: number,
): Promise<PreviousVersion | null> {
  const before = lastShownVersion(events, version);
  if (before === null) return null;
  const { version: earlier, stored, making, rationale } = before.asked;
  // If the earlier content is no longer stored, show this version without a comparison rather than failing.
  if (stored.content === null && (await deps.blobs.size(stored.contentBlob ?? "")) === undefined) return null;
  const content = await loadContent(deps.blobs, stored);
  const textDerived = making.textDerived === true;
  return { version: earlier, content, textDerived, rationale, because: before.because };
}

/**
 * Returns when the secondary channel will be asked (processes/escalateUnanswered.ts); null if it was asked already or will not be asked.
 */
function escalatesAt(identity: Identity, draft: Draft, events: readonly Recorded<DraftEvent>[]): string | null {
  const { secondaryApprovalChannel: channel, escalationDelayMinutes: delay } = identity;
  if (draft.status !== "pending" || draft.escalatedVersion >= draft.version) return null;
  const since = pendingSince(events);
  if (channel === null || delay === null || since === undefined || identity.approvalsRequired > 1) return null;
  return new Date(since + delay * 60_000).toISOString();
}

/** Rows of the draft, the message it answers, and newer messages. */
type Rows = { row?: ReadDraft | undefined; answered?: MessageRow | undefined; newer?: MessageRow; held?: HeldRow };

/** Reads all rows in one snapshot of the read models. */
const readRows = (reads: Reads, draftId: string, draft: Draft): Promise<Rows> =>
  reads.snapshot(draft.workspaceId, async (snapshot) => {
    const { workspaceId, basedOnMessageId } = draft;
    const [row, answered] = await Promise.all([
      draftById(snapshot, workspaceId, draftId),
      basedOnMessageId === null ? undefined : messageById(snapshot, workspaceId, basedOnMessageId),
    ]);
    if (row?.newer_message_id === null) return { row, answered };
    const after = { threadId: row?.thread_id ?? draft.threadId, filingNumber: draft.basedOnNumber };
    const [newer, held] = await Promise.all([
      newerHumanMessage(snapshot, workspaceId, after),
      newerHeld(snapshot, workspaceId, after),
    ]);
    return { row, answered, ...(newer && { newer }), ...(held && { held }) };
  });

async function newerMessage(deps: Dependencies, message: MessageRow, identity: Identity): Promise<NewerMessage> {
  const shown = await messageShown(deps, { message, identity });
  const { fromName, fromEmail, receivedAt, subject, newText } = shown;
  return { fromName, fromEmail, receivedAt, subject, newText };
}

/** Describes a held message: its content is not shown before its release. */
export const heldMessage = ({ from_name, from_email, received_at }: HeldRow): NewerMessage => ({
  fromName: from_name,
  fromEmail: from_email,
  receivedAt: received_at.toISOString(),
  subject: "(held, not shown yet)",
  newText: null,
});

/** Returns the approvers of the newest version whose approvals count now; null if one approval is enough. */
export async function approvalsSoFar(
  deps: Dependencies,
  identity: Identity,
  { approvals_given: all }: Pick<ReadDraft, "approvals_given">,
): Promise<ApprovalsSoFar | null> {
  const { required, keysCount } = await quorumOf(deps, identity);
  if (required === 1) return null;
  const voters = all.flatMap(({ voter }) => voter ?? []);
  const lapsed = await lapsedVoters(deps, identity.workspaceId, voters);
  const given = all.filter(({ voter }) => (keysCount || voter !== keysVoter) && !lapsed.includes(voter ?? ""));
  return { required, given: given.map(({ by, at }) => ({ by: by.name ?? by.id, at: new Date(at).toISOString() })) };
}

/** Returns the draft's newest request for changes, as the one that it waits for or the one that its newest version answers. */
function requestedChanges(row: ReadDraft | undefined): Pick<ApprovalView, "changesMade" | "changesRequested"> {
  const none = { changesMade: null, changesRequested: null };
  if (!row?.changes_requested || row.status !== "pending") return none;
  const { by, text, at, version, content_sha256, state } = row.changes_requested;
  const isUnchanged = content_sha256 === row.content_sha256;
  const request = { by: by.name ?? by.id, text, at: new Date(at).toISOString(), version, isUnchanged };
  return state === "answered" ? { ...none, changesMade: request } : { ...none, changesRequested: request };
}

const outcomes = ["approved", "rejected", "sending", "sent", "stale", "failed"] as const;

/** Returns the recorded decision and its outcome; null while the draft is pending. */
export function recordedOutcome(row: ReadDraft): RecordedOutcome | null {
  const decision = outcomes.find((outcome) => outcome === row.status);
  if (!decision) return null;
  return {
    decision,
    by: row.decided_by ? (row.decided_by.name ?? row.decided_by.id) : null,
    at: new Date(row.sent_at ?? row.decided_at ?? row.updated_at).toISOString(),
    reason: row.reason ?? row.failure_message,
    ...(row.undo_until !== null && { undoable: true }),
  };
}
