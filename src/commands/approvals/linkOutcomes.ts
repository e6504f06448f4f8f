import { setTimeout as sleep } from "node:timers/promises";
import { draftById } from "#projections/drafts/queries.ts";
import { heldById, messageById } from "#projections/messages/queries.ts";
import type { ReadModel } from "#projections/names.ts";
import type { CardedView, DecisionResult, HeldBy, LinkResult } from "#src/channels/approvalDecisions.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { linkUndoDeadline } from "#streams/draft/undo.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { ChangedDraft } from "../drafts/changeDraft.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import type { Cause } from "../handle.ts";
import { requireProjected } from "../readModels.ts";
import { newerMessageOf } from "../sends/newerMessage.ts";
import { checkDraftSendable, checkSenderAllowed, endStale, newerMessageIn } from "../sends/sendChecks.ts";
import type { LinkedDraft } from "./approvalTokens.ts";
import { approvalsSoFar, approvalView, heldMessage } from "./approvalViews.ts";
import { withCard } from "./cards.ts";
import { withDownloads } from "./linkedAttachments.ts";

/** Read models that a page needs besides the streams: the decision page (`question`) and the outcome page (`outcome`). */
export const shown = { question: ["drafts", "messages", "threads"], outcome: ["drafts"] } as const;

/** Maximum wait in milliseconds after an approval, to show on the page if the mail is on its way. */
const tellWithinMs = 3_000;

/** Throws Unavailable if one of these read models cannot be read now. */
export type RequireReadable = (of: readonly ReadModel[]) => void;

/** Dependencies of decisions by link. */
export type LinkDependencies = Dependencies & { requireReadable: RequireReadable };

/** Waits until these read models include a log position. Throws Unavailable if they cannot be read now. */
export async function requireShown(deps: LinkDependencies, position: number, of: readonly ReadModel[]): Promise<void> {
  deps.requireReadable(of);
  await requireProjected(deps, position, of);
}

/** Returns the result of an approval after which further approvals are still missing. */
export async function voteCounted(
  deps: LinkDependencies,
  { draftId, identity, handled }: { draftId: string; identity: Identity; handled: ChangedDraft },
): Promise<DecisionResult> {
  await requireShown(deps, handled.position, shown.outcome);
  const row = await draftById(deps.reads, identity.workspaceId, draftId);
  const approvals = row && (await approvalsSoFar(deps, identity, row));
  // The number of required approvals was lowered meanwhile, or the draft was just edited.
  if (!approvals || row.version !== handled.state.version) return { kind: "changed" };
  return { kind: "vote_counted", approvals, again: !handled.changed };
}

/** Returns the view of a draft whose version is waiting for changes. */
export async function waitingForChanges(
  deps: LinkDependencies,
  link: ShownLink,
  again = true,
): Promise<DecisionResult> {
  const view = await outcomeView(deps, link);
  if (view.changesRequested === null) return view.decided ? { kind: "already_decided", view } : { kind: "changed" };
  return { kind: "changes_requested", view, again };
}

/** Returns the result of an approval by a link or button that completes the quorum. */
export async function afterApproval(
  deps: LinkDependencies,
  approved: { draftId: string; draft: Draft; tokenSha256: string; sendRequested: boolean },
): Promise<DecisionResult> {
  const { draftId, draft, tokenSha256, sendRequested } = approved;
  const undoUntil = linkUndoDeadline(draft, tokenSha256, deps.clock.now().toISOString());
  if (undoUntil !== null) return sentAfterUndo(deps, draft, undoUntil);
  return sendRequested ? howItGoesOn(deps, draftId) : { kind: "approved", sending: false };
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

/** Returns the result of an approval that can be undone first. `note`: why the mail would not be sent if the time were over now. */
async function sentAfterUndo(deps: Dependencies, draft: Draft, undoUntil: string): Promise<DecisionResult> {
  const { no } = await checkSenderAllowed(deps, draft, "shown");
  return no
    ? { kind: "approved", sending: false, note: heldBy(no.refusal.code), undoUntil }
    : { kind: "approved", sending: true, undoUntil };
}

const heldBy = (code: string): HeldBy =>
  code === "sending_paused" || code === "plan_limit_reached" ? code : "identity_disabled";

/** Returns the result of a decision on a draft whose customer wrote again. */
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

/**
 * Ends a draft whose customer wrote again, at a press that would approve it, and returns the result of the press; undefined if it is not
 * stale. A press with a wrong code ends nothing: it is refused for its code.
 */
export async function endIfStale(
  deps: Dependencies,
  { draftId, draft, isWrongCode }: { draftId: string; draft: Draft; isWrongCode: boolean },
  cause: Cause,
): Promise<DecisionResult | undefined> {
  const { no } = await checkDraftSendable(deps, { moment: "approved", draftId, draft }, cause);
  if (!no || isWrongCode) return undefined;
  const newMessageId = newerMessageIn(no);
  await endStale(deps, { draftId, draft, newMessageId }, cause);
  return stale(deps, draft, newMessageId);
}

/** Returns the result of a press on a draft that was decided before. */
export const decidedAlready = async (deps: LinkDependencies, link: ShownLink): Promise<LinkResult> => ({
  kind: "already_decided",
  view: await outcomeView(deps, link),
});

/** A link, as far as its page needs it. */
type ShownLink = Pick<LinkedDraft, "token" | "draftId" | "asked">;

/** Builds the view for the page after a decision, from read models that include it. */
export async function outcomeView(deps: LinkDependencies, link: ShownLink): Promise<CardedView> {
  const { token, draftId, asked } = link;
  const { version, expiresAt } = asked;
  const { state: draft, position } = await deps.drafts.load(draftId);
  await requireShown(deps, position, shown.outcome);
  const view = await approvalView(deps, { draftId, draft, version, expiresAt });
  const pictures = await shownPictures(deps, view.content);
  const attachments = withDownloads(view.attachments, token);
  return withCard(deps, draft.workspaceId, { ...view, attachments, pictures });
}
