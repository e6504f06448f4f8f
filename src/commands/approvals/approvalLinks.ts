import type {
  ApprovalDecisions,
  DecideRequest,
  DecisionResult,
  LinkedApproval,
} from "#src/channels/approvalDecisions.ts";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import { codeTriesLeft } from "#streams/draft/confirmation.ts";
import { linkUndoDeadline } from "#streams/draft/undo.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import { requireWords } from "../drafts/changesRequests.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import type { Cause } from "../handle.ts";
import { resolveToken } from "./approvalTokens.ts";
import { approvalView } from "./approvalViews.ts";
import { withCard } from "./cards.ts";
import { editAndApprove, previewEdit } from "./channelEdits.ts";
import { countedApproval } from "./countApproval.ts";
import { editingByLink } from "./editByChannel.ts";
import { causeOfPress } from "./linkCause.ts";
import { linkedAttachment, withDownloads } from "./linkedAttachments.ts";
import {
  afterApproval,
  decidedAlready,
  endIfStale,
  type LinkDependencies,
  type RequireReadable,
  requireShown,
  shown,
  voteCounted,
  waitingForChanges,
} from "./linkOutcomes.ts";
import {
  type CodedPress,
  isForNamedUsers,
  isOwnEdit,
  judgedCode,
  mayPress,
  oncePerStream,
  refuseCode,
} from "./linkPresses.ts";
import { undoByLink } from "./undoByLink.ts";
import { undoWindow } from "./undoWindow.ts";
import { voterNames } from "./voters.ts";

/**
 * Reads and decides for the approval pages. The token is the permission: it names the draft, the version and the channel. `find` and
 * `decide` throw Unavailable rather than show data that may be out of date, so that no decision is based on it.
 */
export const approvalDecisions = (
  deps: Dependencies,
  requireReadable: RequireReadable = () => {},
): ApprovalDecisions => ({
  find: (token) => find({ ...deps, requireReadable }, token),
  decide: (request) => decide({ ...deps, requireReadable }, request),
  undo: (request) => undoByLink({ ...deps, requireReadable }, request),
  previewEdit: (request) => previewEdit({ ...deps, requireReadable }, request),
  attachment: (token, n) => linkedAttachment(deps, token, n),
});

async function find(deps: LinkDependencies, token: string): Promise<LinkedApproval | undefined> {
  const link = await resolveToken(deps, token);
  if (!link) return undefined;
  const { draftId, draft, asked, position } = link;
  const { expiresAt, decision: action, closed, confirmCode, notificationId } = asked;
  const isOwn = await isOwnEdit(deps, link);
  const version = isOwn ? draft.version : asked.version;
  const isAsked = draft.status === "pending" && version === draft.version;
  await requireShown(deps, position, isAsked ? shown.question : shown.outcome);
  const view = await approvalView(deps, { draftId, draft, version, expiresAt });
  const pictures = await shownPictures(deps, view.content);
  const triesLeft = confirmCode === undefined ? null : codeTriesLeft(draft, notificationId);
  const state = { superseded: version !== draft.version, action, closed, codeTriesLeft: triesLeft };
  const attachments = withDownloads(view.attachments, token);
  const undoUntil = linkUndoDeadline(draft, link.tokenSha256, deps.clock.now().toISOString());
  const inChatOnly = (await isForNamedUsers(deps, link)) ? { inChatOnly: true as const } : {};
  const editing = editingByLink(view, asked);
  return withCard(deps, draft.workspaceId, {
    ...{ ...view, attachments, pictures, contentSha256: isOwn ? view.contentSha256 : asked.contentSha256 },
    ...state,
    ...inChatOnly,
    undoUntil,
    ...(editing && { editing }),
    ...(isOwn && { ownEdit: true as const }),
  });
}

/**
 * Decides after waiting until acknowledged mail is filed. If the identity, or another stream that the approval was judged by, changes
 * meanwhile, the decision is judged again, because another person may be the approver by then.
 */
async function decide(deps: LinkDependencies, request: DecideRequest): Promise<DecisionResult> {
  const link = await resolveToken(deps, request.token);
  if (!link) return { kind: "unknown" };
  const { asked } = link;
  const may = await mayPress(deps, link, request);
  if ("refused" in may) return may.refused;
  if (asked.confirmCode !== undefined && request.code === undefined) return { kind: "code_missing" };
  const { undoable = false } = request;
  const press = { ...link, ...judgedCode(deps, asked, request.code), ...may, undoable };
  const cause = causeOfPress(deps, link, request);
  try {
    const reason = request.reason ?? null;
    switch (request.decision) {
      case "approve":
        return await approve(deps, press, cause);
      case "reject":
        return await reject(deps, { press, reason }, cause);
      case "request_changes":
        return await askForChanges(deps, { press, text: requireWords(reason ?? "") }, cause);
      case "edit": {
        if (!request.edit) throw invalidRequest("edit", "expected the edited text");
        return await editAndApprove(deps, { press, edit: request.edit, isInChat: request.by !== undefined }, cause);
      }
    }
  } catch (error) {
    if (error instanceof StreamMoved) return decide(deps, request);
    if (!(error instanceof Rejected)) throw error;
    if (error.code === "version_mismatch") return { kind: "changed" };
    if (error.code === "invalid_status") return decidedAlready(deps, link);
    if (error.code === "changes_requested") return waitingForChanges(deps, link);
    // The link was closed after the check above. The repeated check returns the reason.
    if (error.code === "link_closed") return decide(deps, request);
    throw error;
  }
}

async function approve(deps: LinkDependencies, press: CodedPress, cause: Cause): Promise<DecisionResult> {
  const { draftId, draft, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const ended = await endIfStale(deps, press, cause);
  if (ended) return ended;
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor, channel: asked.channel };
  const { identity, voting, unlessMoved } = await countedApproval(deps, approval);
  const { version: ifVersion, contentSha256 } = asked;
  const sendRequested = identity.sendOnChannelApproval;
  const shownAs = { ifVersion, contentSha256, tokenSha256, codeMacs };
  const window = press.undoable ? { undoWindow: undoWindow(deps) } : {};
  const command = { type: "ApproveDraft", ...shownAs, sendRequested, voting, ...window } as const;
  if (isWrongCode) return refuseCode(deps, { press, command }, cause);
  const handled = await changeDraft(
    deps,
    { draftId, command, recorded: "approve:recorded" },
    { ...cause, unlessMoved: oncePerStream([...press.judgedBy, ...unlessMoved]) },
  );
  if (handled.state.status === "pending") return voteCounted(deps, { draftId, identity, handled });
  return afterApproval(deps, { draftId, draft: handled.state, tokenSha256, sendRequested });
}

async function reject(
  deps: LinkDependencies,
  { press, reason }: { press: CodedPress; reason: string | null },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const command = { type: "RejectDraft", reason, ifVersion: asked.version, tokenSha256, codeMacs } as const;
  if (isWrongCode) return refuseCode(deps, { press, command }, cause);
  await changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: press.judgedBy });
  return { kind: "rejected" };
}

async function askForChanges(
  deps: LinkDependencies,
  { press, text }: { press: CodedPress; text: string },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const { voter: requester, also = [] } = await voterNames(deps, cause.actor, asked.channel);
  const { version: ifVersion, contentSha256 } = asked;
  const shownAs = { ifVersion, contentSha256, tokenSha256, codeMacs };
  const command = { type: "RequestChanges", text, ...shownAs, requester, also } as const;
  if (isWrongCode) return refuseCode(deps, { press, command }, cause);
  const { changed } = await changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: press.judgedBy });
  return waitingForChanges(deps, press, !changed);
}
