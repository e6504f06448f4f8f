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

/** An approval to count. `draftId`: null for a draft submitted with its approval. `channel`: the channel used; absent for none. */
type ApprovalToCount = {
  draftId: string | null;
  identityId: string;
  actor: Actor;
  channel?: ApprovalRequest["channel"];
};

/** An approval as it counts now. `unlessMoved`: streams it was judged by, which must guard its append. */
export type CountedApproval = { identity: Identity; voting: Voting; unlessMoved: readonly Guard[] };

/** Counts an approval by its identity, its workspace and, if several approvals are required, the members whose votes may have lapsed. */
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
    // Votes are read after the members, so a removal of a member after that moves the guarded stream.
    if (draftId !== null) votes = (await deps.drafts.load(draftId)).state.votes;
  }
  return { identity, unlessMoved, voting: await toVote(deps, identity, { actor, channel: channel ?? null, votes }) };
}

/** Appends an approval as it counts; counts again if a stream it was judged by moves before the append. */
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
