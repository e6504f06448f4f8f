import { anyIdentityRequiresHuman } from "#projections/identities/queries.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Asker } from "#streams/member/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import { withWorkspaceRequirement } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/** Returns the requesting person or key in the form that the members' stream judges. */
export function memberChanger({ actor }: Pick<Cause, "actor">): Asker {
  if (actor.kind === "session") return { userId: actor.id };
  return actor.kind === "api_key" ? "api_key" : "operator";
}

/**
 * Changes a workspace's members. While human approval is required anywhere in the workspace, an API key may not change members, because it
 * could invite an approver. Throws Rejected human_approval_required.
 */
export async function changeMembers<T>(
  deps: Dependencies,
  { workspaceId, cause }: { workspaceId: string; cause: Cause },
  change: (cause: Cause) => Promise<T>,
): Promise<T> {
  if (memberChanger(cause) !== "api_key") return change(withoutOwnGuard(cause, workspaceId));
  return withWorkspaceRequirement(deps, workspaceId, async (requires, guard: Guard) => {
    if (requires || (await anyIdentityRequiresHuman(deps.reads, workspaceId))) throw personsOnly();
    return change({ ...cause, workspaceId, unlessMoved: [guard] });
  });
}

/**
 * Removes the guard on the members' stream, because that stream judges the person's role itself, at its newest state. With the guard, two
 * concurrent invitations would conflict.
 */
function withoutOwnGuard({ keyGuard, ...cause }: Cause, workspaceId: string): Cause {
  const isOwn = keyGuard === undefined || keyGuard.stream === memberStream(workspaceId);
  return { ...cause, workspaceId, ...(isOwn ? {} : { keyGuard }) };
}

const personsOnly = (): Rejected =>
  new Rejected(
    "human_approval_required",
    "this workspace requires human approval, so an API key cannot change its members: an owner or an admin has to do it in the console",
  );
