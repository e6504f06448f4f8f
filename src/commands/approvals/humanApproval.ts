import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";

type Workspaces = Pick<Dependencies, "workspaces">;

/** Returns true if only a person may approve for this identity, because of the identity's setting or its workspace's setting. */
export async function requiresHuman(
  deps: Workspaces,
  identity: Pick<Identity, "workspaceId" | "requireHumanApproval">,
): Promise<boolean> {
  return identity.requireHumanApproval || workspaceRequiresHuman(deps, identity.workspaceId);
}

/** Throws Rejected human_approval_required if only a person may decide about this identity's drafts. */
export async function requireKeysMayDecide(
  deps: Pick<Dependencies, "workspaces" | "identities">,
  { identityId }: { identityId: string },
): Promise<void> {
  const { state: identity } = await deps.identities.load(identityId);
  if (!(await requiresHuman(deps, identity))) return;
  throw new Rejected(
    "human_approval_required",
    "this identity requires human approval: a person has to approve the draft, through an approval channel or in the console",
  );
}

/** Throws Rejected approvals_missing if several approvals are required, because then one API key must not approve alone. */
export async function requireOneApproval(
  deps: Pick<Dependencies, "identities">,
  { identityId }: { identityId: string },
): Promise<void> {
  const { approvalsRequired: required } = (await deps.identities.load(identityId)).state;
  if (required === 1) return;
  throw new Rejected("approvals_missing", `this identity requires ${required} approvals`, { required });
}

async function workspaceRequiresHuman(deps: Workspaces, workspaceId: string): Promise<boolean> {
  const { state } = await deps.workspaces.load(workspaceId);
  return state.requireHumanApproval;
}

/**
 * Runs `judged` with the workspace's human-approval setting and a guard, under which `judged` must append. Runs it again if the workspace
 * changes meanwhile, so that a slow change that began before the setting was turned on cannot bypass the setting.
 */
export async function withWorkspaceRequirement<T>(
  deps: Workspaces,
  workspaceId: string,
  judged: (requires: boolean, guard: Guard) => Promise<T>,
): Promise<T> {
  for (;;) {
    const { state, revision } = await deps.workspaces.load(workspaceId);
    const guard = { stream: workspaceStream(workspaceId), revision };
    try {
      return await judged(state.requireHumanApproval, guard);
    } catch (error) {
      if (!(error instanceof StreamMoved) || error.stream !== guard.stream) throw error;
    }
  }
}

/**
 * Checks the right to name approvers or reply addresses while creating an identity in a workspace that requires human approval. Without
 * this check an agent's key could create an identity that the agent approves itself, or whose replies nobody in the workspace sees. Throws
 * Rejected insufficient_scope.
 */
export function requireMayNameApprovers({
  approvalChannel,
  secondaryApprovalChannel,
  aliases,
  coveredRecipients,
  replyToEmail,
  editByChannel,
}: Partial<IdentitySettings>): void {
  const lists = [...(aliases ?? []), ...(coveredRecipients ?? [])];
  const named = approvalChannel || secondaryApprovalChannel || lists.length > 0 || replyToEmail;
  if (!named && !editByChannel) return;
  const sentence =
    "this workspace requires human approval: setting an identity's approval channel, covered_recipients, aliases, reply_to_email or edit_by_channel needs the scope write:approvals";
  throw new Rejected("insufficient_scope", sentence);
}
