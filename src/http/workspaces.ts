import { workspaceById } from "#projections/workspaces/queries.ts";
import { type CurrentPlan, currentPlan } from "#src/commands/plans/plans.ts";
import { currentUsage } from "#src/commands/plans/quotas.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { route } from "./framework/route.ts";
import { UpdateWorkspace, Workspace } from "./schemas/workspaces.ts";

export const workspaceRoutes = (deps: HttpDependencies) => [
  route(
    "GET /v1/workspaces/me",
    { scope: "read:workspace", limit: "read", summary: "Read the key's workspace", answers: Workspace },
    ({ workspaceId }) => shownWorkspace(deps, workspaceId),
  ),

  route(
    "PATCH /v1/workspaces/me",
    {
      scope: "write:workspace",
      limit: "write",
      summary: "Rename the workspace, pause or resume its sending, or require human approval or named approvers",
      description:
        "Only the given fields change; a name of null changes nothing. Turning require_human_approval or require_named_approvers off needs the scope write:approvals.",
      body: UpdateWorkspace,
      answers: Workspace,
    },
    async ({ workspaceId, body, principal, cause }) => {
      const changes = {
        name: body.name ?? undefined,
        sendingPaused: body.sending_paused,
        sendingPausedReason: body.sending_paused_reason,
        requireHumanApproval: body.require_human_approval,
        requireNamedApprovers: body.require_named_approvers,
        mayLoosen: principal.scopes.includes("write:approvals"),
      };
      const { position } = await updateWorkspace(deps, { workspaceId, ...changes }, cause);
      await deps.readAfter(position, workspaceId);
      return shownWorkspace(deps, workspaceId);
    },
  ),
];

/** Converts a workspace to the contract's form, with its current plan. */
async function shownWorkspace(deps: HttpDependencies, workspaceId: string) {
  const [row, usage] = await Promise.all([
    workspaceById(deps.reads, workspaceId),
    currentPlanAndUsage(deps, workspaceId),
  ]);
  return { ...row, ...presentPlan(usage) };
}

export async function currentPlanAndUsage(deps: HttpDependencies, workspaceId: string) {
  const [plan, sent, received] = await Promise.all([
    currentPlan(deps, workspaceId),
    currentUsage(deps, workspaceId, "outbound"),
    currentUsage(deps, workspaceId, "inbound"),
  ]);
  return { plan, sent, received };
}

/** The plan's fields that Workspace and Subscription share. */
export const presentPlan = ({ plan, sent, received }: { plan: CurrentPlan; sent: number; received: number }) => ({
  plan: plan.plan,
  plan_status: plan.status,
  beta_override: plan.betaOverride,
  trial_ends_at: plan.trialEndsAt,
  current_period_start: plan.period?.start ?? null,
  current_period_end: plan.period?.end ?? null,
  emails_sent_this_period: sent,
  inbound_received_this_period: received,
});
