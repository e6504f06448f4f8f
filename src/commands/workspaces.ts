import { calendarMonth, monthOf } from "#streams/quota/rollOver.ts";
import type { PlanChanges, Workspace, WorkspaceChanges } from "#streams/workspace/decider.ts";
import type { Plan } from "#streams/workspace/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

/** `workspaceId`: where a repetition has to come to the same one. */
export type NewWorkspace = { name: string; plan: Plan; betaOverride: boolean; workspaceId?: string };

/** Makes a workspace. Its periods count from now. */
export async function createWorkspace(
  deps: Dependencies,
  { name, plan, betaOverride, workspaceId = deps.ids.uuid() }: NewWorkspace,
  cause: Cause,
): Promise<{ workspaceId: string; position: number }> {
  const slug = `${slugOf(name)}-${workspaceId.slice(-6)}`;
  const createdAt = deps.clock.now().toISOString();
  const workspace = { name, slug, plan, planStatus: "active" as const, betaOverride, createdAt };
  const command = { type: "CreateWorkspace", workspace } as const;
  const { position } = await deps.workspaces.handle(workspaceId, command, {
    ...cause,
    workspaceId,
  });
  return { workspaceId, position };
}

const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40) || "workspace";

export const updateWorkspace = (
  deps: Dependencies,
  { workspaceId, ...changes }: { workspaceId: string } & WorkspaceChanges,
  cause: Cause,
) => deps.workspaces.handle(workspaceId, { type: "UpdateWorkspace", ...changes }, cause);

/** Sets what is given of a plan; what is absent stays. A canceled one keeps its limits until the paid period ends. */
export const setPlan = planSetter((_, changes) => changes);

/** The same by the operator's word: a plan that is given starts a period now, with new counters, unless its dates are given too. */
export const setPlanByOperator = planSetter(withNewPeriod);

/** `meant`: what the changes come to for the workspace as it is when they are recorded. */
function planSetter(meant: (workspace: Workspace, changes: PlanChanges, now: Date) => PlanChanges) {
  return (deps: Dependencies, { workspaceId, ...changes }: { workspaceId: string } & PlanChanges, cause: Cause) =>
    deps.workspaces.handle(
      workspaceId,
      (workspace) => {
        const now = deps.clock.now();
        return { type: "SetPlan" as const, ...withPaidUntil(workspace, meant(workspace, changes, now), now) };
      },
      cause,
    );
}

function withNewPeriod(workspace: Workspace, changes: PlanChanges, now: Date): PlanChanges {
  const { plan, planStatus = workspace.planStatus, currentPeriodStart, currentPeriodEnd } = changes;
  if (plan === undefined) return changes;
  const from = now.toISOString();
  const paidUntil = planStatus === "canceled" ? calendarMonth(from, now).end.toISOString() : null;
  const hasDates = currentPeriodStart !== undefined || currentPeriodEnd !== undefined;
  const period = hasDates ? {} : { currentPeriodStart: null, currentPeriodEnd: paidUntil };
  // No subscription says so any more.
  return { ...changes, ...period, interval: null, renewsAt: null, periodsFrom: from };
}

/** If the payment processor gives no periods, the month in which a plan is canceled is the one that was paid. */
function withPaidUntil(workspace: Workspace, changes: PlanChanges, now: Date): PlanChanges {
  const { planStatus, currentPeriodStart = workspace.currentPeriodStart, currentPeriodEnd } = changes;
  const unsaid = planStatus !== undefined && planStatus !== workspace.planStatus && currentPeriodEnd === undefined;
  if (!unsaid || currentPeriodStart !== null || !workspace.exists) return changes;
  const paidUntil = planStatus === "canceled" ? monthOf({ ...workspace, currentPeriodStart }, now).end : null;
  return { ...changes, currentPeriodEnd: paidUntil?.toISOString() ?? null };
}
