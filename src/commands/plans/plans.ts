import { currentPeriod, currentPlanLimits, earlierPeriods, type Period } from "#streams/quota/rollOver.ts";
import type { Workspace } from "#streams/workspace/decider.ts";
import type { Interval, Plan, PlanStatus } from "#streams/workspace/events.ts";
import { type PlanLimits, planLimits } from "#streams/workspace/planLimits.ts";
import type { Dependencies } from "../dependencies.ts";

/** A workspace's plan at a time. */
export type CurrentPlan = {
  plan: Plan;
  status: PlanStatus;
  limits: PlanLimits;
  /** True if the workspace is exempt from the plan's limits. */
  betaOverride: boolean;
  trialEndsAt: string | null;
  /** Billing interval of the workspace's subscription; null if there is none, or its plan has ended. */
  interval: Interval | null;
  /** ISO time of the next payment; null if the plan does not renew itself. */
  renewsAt: string | null;
  /** Present billing period; null if quotas count the workspace's whole life. */
  period: Period | null;
  /** Names of earlier periods that a lifetime quota includes; empty if there is a present period. */
  earlier: readonly string[];
};

/** Reads the plan from the workspace's own stream, never from the payment processor. */
export async function currentPlan(deps: Dependencies, workspaceId: string): Promise<CurrentPlan> {
  const { state } = await deps.workspaces.load(workspaceId);
  return planOf(deps, state, deps.clock.now());
}

/** Returns the plan of a workspace in this state, at this time. */
export function planOf(deps: Pick<Dependencies, "settings">, state: Workspace, now: Date): CurrentPlan {
  const plan = currentPlanLimits(state, now);
  const period = currentPeriod(state, now);
  return {
    plan,
    status: state.planStatus,
    limits: limitsOf(deps, plan),
    betaOverride: state.betaOverride,
    trialEndsAt: state.trialEndsAt,
    interval: period === null ? null : state.interval,
    renewsAt: period === null || state.planStatus === "canceled" ? null : state.renewsAt,
    period,
    earlier: period === null ? earlierPeriods(state, now) : [],
  };
}

const limitsOf = (deps: Pick<Dependencies, "settings">, plan: Plan): PlanLimits =>
  deps.settings.planLimits?.[plan] ?? planLimits[plan];

/** Returns the workspace's limit for a kind; null: unlimited. */
export async function capOf(deps: Dependencies, workspaceId: string, kind: keyof PlanLimits): Promise<number | null> {
  const { betaOverride, limits } = await currentPlan(deps, workspaceId);
  return betaOverride ? null : limits[kind];
}
