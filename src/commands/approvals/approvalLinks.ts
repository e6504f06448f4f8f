import { setTimeout as sleep } from "node:timers/promises";
import { draftById } from "#projections/drafts/queries.ts";
import { heldById, messageById } from "#projections/messages/queries.ts";
import type { ReadModel } from "#projections/names.ts";
import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import type {
  ApprovalDecisions,
  CardedView,
  DecideRequest,
  DecisionResult,
  HeldBy,
  LinkedApproval,
} from "#src/channels/approvalDecisions.ts";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { codeTriesLeft } from "#streams/draft/confirmation.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { findToken } from "#streams/draft/notification.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { type ChangedDraft, changeDraft } from "../drafts/changeDraft.ts";
import { requireWords } from "../drafts/changesRequests.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import type { Cause } from "../handle.ts";
import { requireProjected } from "../readModels.ts";
import { newerMessageOf } from "../sends/newerMessage.ts";
import { checkDraftSendable, endStale, newerMessageIn } from "../sends/sendChecks.ts";
import { type LinkedDraft, resolveToken } from "./approvalTokens.ts";
import { approvalsSoFar, approvalView, heldMessage } from "./approvalViews.ts";
import { channelOf } from "./askApprovers.ts";
import { withCard } from "./cards.ts";
import { confirmCodeMacs } from "./confirmCodes.ts";
import { countedApproval } from "./countApproval.ts";
import { linkedAttachment, withDownloads } from "./linkedAttachments.ts";
import { voterNames } from "./voters.ts";

/** Read models that a page needs besides the streams: the decision page (`question`) and the outcome page (`outcome`). */
const shown = { question: ["drafts", "messages", "threads"], outcome: ["drafts"] } as const;

/** Maximum wait in milliseconds after an approval, to show on the page if the mail is on its way. */
const tellWithinMs = 3_000;

/** Throws Unavailable if one of these read models cannot be read now. */
type RequireReadable = (of: readonly ReadModel[]) => void;

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
  attachment: (token, n) => linkedAttachment(deps, token, n),
});

type Deps = Dependencies & { requireReadable: RequireReadable };

async function find(deps: Deps, token: string): Promise<LinkedApproval | undefined> {
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
  const inChatOnly = (await isForNamedUsers(deps, link)) ? { inChatOnly: true as const } : {};
  return withCard(deps, draft.workspaceId, {
    ...{ ...view, attachments, pictures, contentSha256 },
    ...state,
    ...inChatOnly,
  });
}

async function requireShown(deps: Deps, position: number, of: readonly ReadModel[]): Promise<void> {
  deps.requireReadable(of);
  await requireProjected(deps, position, of);
}

/**
 * Decides after waiting until acknowledged mail is filed. If the identity, or another stream that the approval was judged by, changes
 * meanwhile, the decision is judged again, because another person may be the approver by then.
 */
async function decide(deps: Deps, request: DecideRequest): Promise<DecisionResult> {
  const link = await resolveToken(deps, request.token);
  if (!link) return { kind: "unknown" };
  const { draft, asked } = link;
  if (asked.closed) return { kind: "closed", because: asked.closed };
  if (asked.version !== draft.version) return { kind: "changed" };
  if (draft.status !== "pending") return decidedAlready(deps, link);
  if (Date.parse(asked.expiresAt) <= deps.clock.now().getTime()) return { kind: "expired" };
  if (!request.by && (await isForNamedUsers(deps, link))) return { kind: "in_chat_only" };
  if (asked.confirmCode !== undefined && request.code === undefined) return { kind: "code_missing" };
  const press = { ...link, ...judgedCode(deps, asked, request.code) };
  const cause = await causeOf(deps, link, request);
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
type CodedPress = LinkedDraft & { codeMacs: readonly string[] | undefined; isWrongCode: boolean };

function judgedCode(
  deps: Dependencies,
  { notificationId, confirmCode }: LinkedDraft["asked"],
  code: string | undefined,
): Pick<CodedPress, "codeMacs" | "isWrongCode"> {
  const codeMacs = code === undefined ? undefined : confirmCodeMacs(deps, notificationId, code);
  return { codeMacs, isWrongCode: confirmCode !== undefined && !codeMacs?.includes(confirmCode) };
}

async function approve(deps: Deps, press: CodedPress, cause: Cause): Promise<DecisionResult> {
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
  const command = { type: "ApproveDraft", ...shownAs, sendRequested, voting } as const;
  if (isWrongCode) return refused(deps, { press, command }, cause);
  const handled = await changeDraft(
    deps,
    { draftId, command, recorded: "approve:recorded" },
    { ...cause, unlessMoved: [press.judgedBy, ...unlessMoved] },
  );
  if (handled.state.status === "pending") return voteCounted(deps, { draftId, identity, handled });
  return sendRequested ? howItGoesOn(deps, draftId) : { kind: "approved", sending: false };
}

/** Returns the result of an approval after which further approvals are still missing. */
async function voteCounted(
  deps: Deps,
  { draftId, identity, handled }: { draftId: string; identity: Identity; handled: ChangedDraft },
): Promise<DecisionResult> {
  await requireShown(deps, handled.position, shown.outcome);
  const row = await draftById(deps.reads, identity.workspaceId, draftId);
  const approvals = row && (await approvalsSoFar(deps, identity, row));
  // The number of required approvals was lowered meanwhile, or the draft was just edited.
  if (!approvals || row.version !== handled.state.version) return { kind: "changed" };
  return { kind: "vote_counted", approvals, again: !handled.changed };
}

async function reject(
  deps: Deps,
  { press, reason }: { press: CodedPress; reason: string | null },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const command = { type: "RejectDraft", reason, ifVersion: asked.version, tokenSha256, codeMacs } as const;
  if (isWrongCode) return refused(deps, { press, command }, cause);
  await changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: [press.judgedBy] });
  return { kind: "rejected" };
}

async function askForChanges(
  deps: Deps,
  { press, text }: { press: CodedPress; text: string },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const { voter: requester, also = [] } = await voterNames(deps, cause.actor, asked.channel);
  const { version: ifVersion, contentSha256 } = asked;
  const shownAs = { ifVersion, contentSha256, tokenSha256, codeMacs };
  const command = { type: "RequestChanges", text, ...shownAs, requester, also } as const;
  if (isWrongCode) return refused(deps, { press, command }, cause);
  const { changed } = await changeDraft(deps, { draftId, command }, { ...cause, unlessMoved: [press.judgedBy] });
  return waitingForChanges(deps, press, !changed);
}

/** Returns the view of a draft whose version is waiting for changes. */
async function waitingForChanges(deps: Deps, link: LinkedDraft, again = true): Promise<DecisionResult> {
  const view = await outcomeView(deps, link);
  if (view.changesRequested === null) return view.decided ? { kind: "already_decided", view } : { kind: "changed" };
  return { kind: "changes_requested", view, again };
}

/**
 * Records a wrong confirmation code. The stream receives the same command as for a right code, so that concurrent tries are judged in order
 * and a right code is not accepted out of turn.
 */
async function refused(
  deps: Deps,
  { press, command }: { press: CodedPress; command: DraftCommand },
  cause: Cause,
): Promise<DecisionResult> {
  const { state: draft } = await deps.drafts.handle(press.draftId, command, cause);
  const closed = findToken(draft, press.tokenSha256)?.closed;
  if (closed) return { kind: "closed", because: closed };
  if (draft.status !== "pending") return decidedAlready(deps, press);
  return { kind: "code_wrong", triesLeft: codeTriesLeft(draft, press.asked.notificationId) };
}

/** Waits briefly for the outcome, to show it to the approver. The approval is recorded; a process sends the mail. */
async function howItGoesOn(deps: Dependencies, draftId: string): Promise<DecisionResult> {
  const deadline = deps.clock.monotonic() + tellWithinMs;
  for (;;) {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.held !== null) return { kind: "approved", sending: false, note: heldBy(draft.held) };
    if (draft.status === "stale") return stale(deps, draft, await newerMessageOf(deps, draft));
    if (draft.status === "pending") return { kind: "changed" };
    if (draft.status !== "approved" || deps.clock.monotonic() > deadline) return { kind: "approved", sending: true };
    await sleep(20);
  }
}

const heldBy = (code: string): HeldBy =>
  code === "sending_paused" || code === "plan_limit_reached" ? code : "identity_disabled";

async function stale(deps: Dependencies, draft: Draft, newMessageId: string | null): Promise<DecisionResult> {
  if (newMessageId === null) return { kind: "stale", newer: null };
  const held = await heldById(deps.reads, draft.workspaceId, newMessageId);
  if (held) return { kind: "stale", newer: heldMessage(held) };
  const message = await messageById(deps.reads, draft.workspaceId, newMessageId);
  if (!message) return { kind: "stale", newer: null };
  const { from_name, from_email, subject, body_text } = message;
  const receivedAt = (message.received_at ?? message.created_at).toISOString();
  const newText = body_text ?? "";
  return { kind: "stale", newer: { fromName: from_name, fromEmail: from_email, receivedAt, subject, newText } };
}

const decidedAlready = async (deps: Deps, link: LinkedDraft): Promise<DecisionResult> => ({
  kind: "already_decided",
  view: await outcomeView(deps, link),
});

/** Builds the view for the page after a decision, from read models that include it. */
async function outcomeView(deps: Deps, link: LinkedDraft): Promise<CardedView> {
  const { token, draftId, asked } = link;
  const { version, expiresAt } = asked;
  const { state: draft, position } = await deps.drafts.load(draftId);
  await requireShown(deps, position, shown.outcome);
  const view = await approvalView(deps, { draftId, draft, version, expiresAt });
  const pictures = await shownPictures(deps, view.content);
  const attachments = withDownloads(view.attachments, token);
  return withCard(deps, draft.workspaceId, { ...view, attachments, pictures });
}

/**
 * True if only named users may decide in this chat: its button tokens are known to every member's client, so a
 * link made from them must only show the page.
 */
async function isForNamedUsers(deps: Dependencies, { draft, asked }: LinkedDraft): Promise<boolean> {
  if (asked.channel.type === "email") return false;
  const { state: identity } = await deps.identities.load(draft.identityId);
  return allowedUsersOf(channelOf(identity, asked.channel.slot)?.config ?? {}) !== null;
}

async function causeOf(deps: Dependencies, link: LinkedDraft, request: DecideRequest): Promise<Cause> {
  const { draft, asked } = link;
  const { type, address } = asked.channel;
  // The link of a mailbox identifies its owner; a link in a chat may be used by any member.
  const linkHolder = (type === "email" ? address : null) ?? asked.notificationId;
  const requestId = request.requestId ?? deps.ids.uuid();
  return {
    actor: {
      ...(request.by ?? { kind: "email_link", id: linkHolder }),
      channel: type,
      ip: request.ip,
      userAgent: request.userAgent,
      requestId,
    },
    workspaceId: draft.workspaceId,
    correlationId: requestId,
    causationId: requestId,
  };
}
