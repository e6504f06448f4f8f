import { calendarMonth, currentMonth } from "#streams/quota/rollOver.ts";
import type { PlanChanges, Workspace, WorkspaceChanges } from "#streams/workspace/decider.ts";
import type { Plan } from "#streams/workspace/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

/** `workspaceId`: given if a repetition must create the same workspace. */
export type NewWorkspace = { name: string; plan: Plan; betaOverride: boolean; workspaceId?: string };

/** Creates a workspace. Its billing periods count from now. */
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

/** Sets the given parts of a plan; absent parts stay. A cancelled plan keeps its limits until the paid period ends. */
export const setPlan = planSetter((_, changes) => changes);

/** Sets the given parts of a plan for the operator. If a plan is given without dates, a new period with new counters starts now. */
export const setPlanByOperator = planSetter(withNewPeriod);

/** Returns a function that sets a plan. `meant`: computes the changes from the workspace's state at the append. */
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
  // No subscription determines interval and renewal any more.
  return { ...changes, ...period, interval: null, renewsAt: null, periodsFrom: from };
}

/** Adds the end of a cancelled plan. If the payment processor gave no periods, the month of the cancellation counts as paid. */
function withPaidUntil(workspace: Workspace, changes: PlanChanges, now: Date): PlanChanges {
  const { planStatus, currentPeriodStart = workspace.currentPeriodStart, currentPeriodEnd } = changes;
  const unsaid = planStatus !== undefined && planStatus !== workspace.planStatus && currentPeriodEnd === undefined;
  if (!unsaid || currentPeriodStart !== null || !workspace.exists) return changes;
  const paidUntil = planStatus === "canceled" ? currentMonth({ ...workspace, currentPeriodStart }, now).end : null;
  return { ...changes, currentPeriodEnd: paidUntil?.toISOString() ?? null };
}
