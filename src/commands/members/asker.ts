import { anyIdentityRequiresHuman } from "#projections/identities/queries.ts";
import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Asker } from "#streams/member/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import { asWorkspaceRequires } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/** Who asks for a change of members, as the stream judges it. */
export function askerOf({ actor }: Pick<Cause, "actor">): Asker {
  if (actor.kind === "session") return { userId: actor.id };
  return actor.kind === "api_key" ? "api_key" : "operator";
}

/**
 * Changes the members of a workspace on behalf of the asker. A key may not while a person has to approve anywhere in the workspace: else it
 * could invite the person who approves. Throws Rejected human_approval_required.
 */
export async function asMembersMayChange<T>(
  deps: Dependencies,
  { workspaceId, cause }: { workspaceId: string; cause: Cause },
  change: (cause: Cause) => Promise<T>,
): Promise<T> {
  if (askerOf(cause) !== "api_key") return change(withoutOwnGuard(cause, workspaceId));
  return asWorkspaceRequires(deps, workspaceId, async (requires, guard: Guard) => {
    if (requires || (await anyIdentityRequiresHuman(deps.reads, workspaceId))) throw personsOnly();
    return change({ ...cause, workspaceId, unlessMoved: [guard] });
  });
}

/**
 * A person's right is in the very stream that is changed, which judges it by itself, at its newest state: guarded by the revision that they
 * came with, two who invite at the same moment would be in each other's way.
 */
function withoutOwnGuard({ keyGuard, ...cause }: Cause, workspaceId: string): Cause {
  const isOwn = keyGuard === undefined || keyGuard.stream === memberStream(workspaceId);
  return { ...cause, workspaceId, ...(isOwn ? {} : { keyGuard }) };
}

const personsOnly = (): Rejected =>
  new Rejected(
    "human_approval_required",
    "this workspace requires human approval, so an API key changes no members: an owner or admin does it in the console",
  );
