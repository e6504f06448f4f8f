import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Vote } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Voting } from "#streams/draft/quorum.ts";
import type { Actor } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { identityStream } from "#streams/identity/events.ts";
import { memberStream } from "#streams/member/events.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { toVote } from "./voters.ts";

/**
 * An approval to count. `draftId`: null if the draft is being submitted with this approval. `channel`: the channel that the approver used;
 * absent if none.
 */
type ApprovalToCount = {
  draftId: string | null;
  identityId: string;
  actor: Actor;
  channel?: ApprovalRequest["channel"];
};

/** An approval with the rules by which it counts now. `unlessMoved`: guards on the streams that it was judged by, for its append. */
export type CountedApproval = { identity: Identity; voting: Voting; unlessMoved: readonly Guard[] };

/**
 * Determines how an approval counts: by its identity, its workspace and, if several approvals are required, the members whose votes may
 * have lapsed.
 */
export async function countedApproval(
  deps: Dependencies,
  { draftId, identityId, actor, channel }: ApprovalToCount,
): Promise<CountedApproval> {
  const { state: identity, revision } = await deps.identities.load(identityId);
  const { workspaceId, approvalsRequired } = identity;
  const workspace = await deps.workspaces.load(workspaceId);
  const unlessMoved = [
    { stream: identityStream(identityId), revision },
    { stream: workspaceStream(workspaceId), revision: workspace.revision },
  ];
  let votes: readonly Vote[] = [];
  if (approvalsRequired > 1) {
    const members = await deps.members.load(workspaceId);
    unlessMoved.push({ stream: memberStream(workspaceId), revision: members.revision });
    // Read the votes after the members. If a member is removed after this, the guarded members' stream moves and the append is refused.
    if (draftId !== null) votes = (await deps.drafts.load(draftId)).state.votes;
  }
  return { identity, unlessMoved, voting: await toVote(deps, identity, { actor, channel: channel ?? null, votes }) };
}

/** Determines how an approval counts, and appends it. Repeats both if a stream that was read for this moves before the append. */
export async function countApproval<T>(
  deps: Dependencies,
  approval: ApprovalToCount,
  append: (counted: CountedApproval) => Promise<T>,
): Promise<T> {
  for (;;) {
    const counted = await countedApproval(deps, approval);
    try {
      return await append(counted);
    } catch (error) {
      if (!(error instanceof StreamMoved) || !counted.unlessMoved.some(({ stream }) => stream === error.stream))
        throw error;
    }
  }
}
