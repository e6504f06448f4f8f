import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { notFound } from "#streams/decider.ts";
import type { Assignee } from "#streams/draft/events.ts";
import { activeMember, type Members } from "#streams/member/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import { approverRoles } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { changeDraft } from "./changeDraft.ts";
import { loadDraft } from "./drafts.ts";

/**
 * Assigns a pending draft to a member who may decide, or to nobody. Throws Rejected not_found for the field user_id (no
 * such member: the same for users of other workspaces, and for ids that do not exist), and invalid_request if the draft is decided.
 */
export async function assignDraft(
  deps: Dependencies,
  { workspaceId, draftId, userId }: { workspaceId: string; draftId: string; userId: string | null },
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  for (;;) {
    const { state, revision } = await deps.members.load(workspaceId);
    const assignee = userId === null ? null : await assigneeOf(deps, state, userId);
    // A member who is removed meanwhile is not assigned: the guarded stream moves, and the member is judged again.
    const guard = { stream: memberStream(workspaceId), revision };
    try {
      const unlessMoved = [...(cause.unlessMoved ?? []), guard];
      return await changeDraft(
        deps,
        { draftId, command: { type: "AssignDraft", assignee } },
        { ...cause, unlessMoved },
      );
    } catch (error) {
      if (!(error instanceof StreamMoved) || error.stream !== guard.stream) throw error;
    }
  }
}

async function assigneeOf(deps: Dependencies, members: Members, userId: string): Promise<Assignee> {
  const member = activeMember(members, userId);
  const user = member && (await deps.users.load(userId)).state;
  if (!member || !user || user.disabled || !approverRoles.includes(member.role))
    throw notFound("user_id", "member of this workspace who may decide about drafts");
  return { userId, name: user.name ?? user.email ?? member.email };
}
