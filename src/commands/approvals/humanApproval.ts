import { Rejected } from "#streams/decider.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";

type Workspaces = Pick<Dependencies, "workspaces">;

/** Whether only a person may approve for this identity: by its own setting, or by its workspace's, which counts for all of them. */
export async function requiresHuman(
  deps: Workspaces,
  identity: Pick<Identity, "workspaceId" | "requireHumanApproval">,
): Promise<boolean> {
  return identity.requireHumanApproval || workspaceRequiresHuman(deps, identity.workspaceId);
}

export async function workspaceRequiresHuman(deps: Workspaces, workspaceId: string): Promise<boolean> {
  const { state } = await deps.workspaces.load(workspaceId);
  return state.requireHumanApproval;
}

/**
 * Who makes an identity also says who approves for it. If the workspace requires human approval, that needs the right to decide so: otherwise an
 * agent's key would make one that it approves itself. Throws Rejected insufficient_scope.
 */
export async function requireMayNameApprovers(
  deps: Workspaces,
  { workspaceId, mayLoosen }: { workspaceId: string; mayLoosen: boolean },
  { approvalChannel, secondaryApprovalChannel, coveredRecipients }: Partial<IdentitySettings>,
): Promise<void> {
  const names = approvalChannel || secondaryApprovalChannel || (coveredRecipients ?? []).length > 0;
  if (mayLoosen || !names || !(await workspaceRequiresHuman(deps, workspaceId))) return;
  const sentence =
    "this workspace requires human approval: setting an identity's approval channel or covered_recipients needs the scope write:approvals";
  throw new Rejected("insufficient_scope", sentence);
}
