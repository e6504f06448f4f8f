import type { UndoRequest, UndoResult } from "#src/channels/approvalDecisions.ts";
import { Rejected } from "#streams/decider.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import { resolveToken } from "./approvalTokens.ts";
import { causeOfPress } from "./linkCause.ts";
import { type LinkDependencies, outcomeView } from "./linkOutcomes.ts";
import { voterNames } from "./voters.ts";

/**
 * Takes back the approval that this very link gave: the draft's stream compares the token, and decides whether it is still in time. The
 * confirmation code is not asked for, because an undo sends nothing.
 */
export async function undoByLink(deps: LinkDependencies, request: UndoRequest): Promise<UndoResult> {
  const link = await resolveToken(deps, request.token);
  if (!link) return { kind: "unknown" };
  const { draftId, draft, asked, tokenSha256 } = link;
  if (asked.closed) return { kind: "closed", because: asked.closed };
  if (Date.parse(asked.expiresAt) <= deps.clock.now().getTime()) return { kind: "expired" };
  const { requireNamedApprovers } = (await deps.workspaces.load(draft.workspaceId)).state;
  if (requireNamedApprovers) return { kind: "sign_in_required" };
  const cause = causeOfPress(deps, link, request);
  const { voter, also = [] } = await voterNames(deps, cause.actor, asked.channel);
  const because = `${cause.actor.id} undid the approval`;
  try {
    await changeDraft(deps, { draftId, command: { type: "UndoApproval", voter, also, tokenSha256, because } }, cause);
    return { kind: "undone" };
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "invalid_status") throw error;
    return { kind: "too_late", view: await outcomeView(deps, link) };
  }
}
