import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import type {
  ApprovalDecisions,
  DecideRequest,
  DecisionResult,
  LinkedApproval,
} from "#src/channels/approvalDecisions.ts";
import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { codeTriesLeft } from "#streams/draft/confirmation.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import { findToken } from "#streams/draft/notification.ts";
import { linkUndoDeadline } from "#streams/draft/undo.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import { requireWords } from "../drafts/changesRequests.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import type { Cause } from "../handle.ts";
import { checkDraftSendable, endStale, newerMessageIn } from "../sends/sendChecks.ts";
import { type LinkedDraft, resolveToken } from "./approvalTokens.ts";
import { approvalView } from "./approvalViews.ts";
import { channelOf } from "./askApprovers.ts";
import { withCard } from "./cards.ts";
import { confirmCodeMacs } from "./confirmCodes.ts";
import { countedApproval } from "./countApproval.ts";
import { causeOfPress } from "./linkCause.ts";
import { linkedAttachment, withDownloads } from "./linkedAttachments.ts";
import {
  decidedAlready,
  howItGoesOn,
  type LinkDependencies,
  type RequireReadable,
  requireShown,
  sentAfterUndo,
  shown,
  stale,
  voteCounted,
  waitingForChanges,
} from "./linkOutcomes.ts";
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
  attachment: (token, n) => linkedAttachment(deps, token, n),
});

async function find(deps: LinkDependencies, token: string): Promise<LinkedApproval | undefined> {
  const link = await resolveToken(deps, token);
  if (!link) return undefined;
  const { draftId, draft, asked, position } = link;
  const { version, expiresAt, contentSha256, decision: action, closed, confirmCode, notificationId } = asked;
  const isAsked = draft.status === "pending" && version === draft.version;
  await requireShown(deps, position, isAsked ? shown.question : shown.outcome);
  const view = await approvalView(deps, { draftId, draft, version, expiresAt });
  const pictures = await shownPictures(deps, view.content);
  const triesLeft = confirmCode === undefined ? null : codeTriesLeft(draft, notificationId);
  const state = { superseded: version !== draft.version, action, closed, codeTriesLeft: triesLeft };
  const attachments = withDownloads(view.attachments, token);
  const undoUntil = linkUndoDeadline(draft, link.tokenSha256, deps.clock.now().toISOString());
  const inChatOnly = (await isForNamedUsers(deps, link)) ? { inChatOnly: true as const } : {};
  return withCard(deps, draft.workspaceId, {
    ...{ ...view, attachments, pictures, contentSha256 },
    ...state,
    ...inChatOnly,
    undoUntil,
  });
}

/**
 * Decides after waiting until acknowledged mail is filed. If the identity, or another stream that the approval was judged by, changes
 * meanwhile, the decision is judged again, because another person may be the approver by then.
 */
async function decide(deps: LinkDependencies, request: DecideRequest): Promise<DecisionResult> {
  const link = await resolveToken(deps, request.token);
  if (!link) return { kind: "unknown" };
  const { draft, asked } = link;
  if (asked.closed) return { kind: "closed", because: asked.closed };
  if (asked.version !== draft.version) return { kind: "changed" };
  if (draft.status !== "pending") return decidedAlready(deps, link);
  if (Date.parse(asked.expiresAt) <= deps.clock.now().getTime()) return { kind: "expired" };
  if (!request.by && (await isForNamedUsers(deps, link))) return { kind: "in_chat_only" };
  const workspace = await deps.workspaces.load(draft.workspaceId);
  if (!request.by && workspace.state.requireNamedApprovers) return { kind: "sign_in_required" };
  if (asked.confirmCode !== undefined && request.code === undefined) return { kind: "code_missing" };
  const judgedBy = [link.judgedBy, { stream: workspaceStream(draft.workspaceId), revision: workspace.revision }];
  const { undoable = false } = request;
  const press = { ...link, ...judgedCode(deps, asked, request.code), judgedBy, undoable };
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

/** A decision to be judged by the draft's stream, with the MACs of the confirmation code that the approver typed. */
type CodedPress = Omit<LinkedDraft, "judgedBy"> & {
  /** Guards on the identity and the workspace at the revisions at which the press was judged. */
  judgedBy: readonly Guard[];
  codeMacs: readonly string[] | undefined;
  isWrongCode: boolean;
  undoable: boolean;
};

function judgedCode(
  deps: Dependencies,
  { notificationId, confirmCode }: LinkedDraft["asked"],
  code: string | undefined,
): Pick<CodedPress, "codeMacs" | "isWrongCode"> {
  const codeMacs = code === undefined ? undefined : confirmCodeMacs(deps, notificationId, code);
  return { codeMacs, isWrongCode: confirmCode !== undefined && !codeMacs?.includes(confirmCode) };
}

async function approve(deps: LinkDependencies, press: CodedPress, cause: Cause): Promise<DecisionResult> {
  const { draftId, draft, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const { no } = await checkDraftSendable(deps, { moment: "approved", draftId, draft }, cause);
  if (no && !isWrongCode) {
    const newMessageId = newerMessageIn(no);
    await endStale(deps, { draftId, draft, newMessageId }, cause);
    return stale(deps, draft, newMessageId);
  }
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor, channel: asked.channel };
  const { identity, voting, unlessMoved } = await countedApproval(deps, approval);
  const { version: ifVersion, contentSha256 } = asked;
  const sendRequested = identity.sendOnChannelApproval;
  const shownAs = { ifVersion, contentSha256, tokenSha256, codeMacs };
  const window = press.undoable ? { undoWindow: undoWindow(deps) } : {};
  const command = { type: "ApproveDraft", ...shownAs, sendRequested, voting, ...window } as const;
  if (isWrongCode) return refused(deps, { press, command }, cause);
  const handled = await changeDraft(
    deps,
    { draftId, command, recorded: "approve:recorded" },
    { ...cause, unlessMoved: oncePerStream([...press.judgedBy, ...unlessMoved]) },
  );
  if (handled.state.status === "pending") return voteCounted(deps, { draftId, identity, handled });
  const undoUntil = linkUndoDeadline(handled.state, tokenSha256, deps.clock.now().toISOString());
  if (undoUntil !== null) return sentAfterUndo(deps, handled.state, undoUntil);
  return sendRequested ? howItGoesOn(deps, draftId) : { kind: "approved", sending: false };
}

/** Keeps the earliest guard of each stream: the state that was read first must still be current at the append. */
const oncePerStream = (guards: readonly Guard[]): Guard[] => [
  ...new Map([...guards].reverse().map((guard) => [guard.stream, guard])).values(),
];

async function reject(
  deps: LinkDependencies,
  { press, reason }: { press: CodedPress; reason: string | null },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const command = { type: "RejectDraft", reason, ifVersion: asked.version, tokenSha256, codeMacs } as const;
  if (isWrongCode) return refused(deps, { press, command }, cause);
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
  if (isWrongCode) return refused(deps, { press, command }, cause);
  const { changed } = await changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: press.judgedBy });
  return waitingForChanges(deps, press, !changed);
}

/**
 * Records a wrong confirmation code. The stream receives the same command as for a right code, so that concurrent tries are judged in order
 * and a right code is not accepted out of turn.
 */
async function refused(
  deps: LinkDependencies,
  { press, command }: { press: CodedPress; command: DraftCommand },
  cause: Cause,
): Promise<DecisionResult> {
  const { state: draft } = await deps.drafts.handle(press.draftId, command, cause);
  const closed = findToken(draft, press.tokenSha256)?.closed;
  if (closed) return { kind: "closed", because: closed };
  if (draft.status !== "pending") return decidedAlready(deps, press);
  return { kind: "code_wrong", triesLeft: codeTriesLeft(draft, press.asked.notificationId) };
}

/**
 * True if only named users may decide in this chat. The programs of all members know the button tokens, so a link made from a token must
 * only show the page.
 */
async function isForNamedUsers(deps: Dependencies, { draft, asked }: LinkedDraft): Promise<boolean> {
  if (asked.channel.type === "email") return false;
  const { state: identity } = await deps.identities.load(draft.identityId);
  return allowedUsersOf(channelOf(identity, asked.channel.slot)?.config ?? {}) !== null;
}
