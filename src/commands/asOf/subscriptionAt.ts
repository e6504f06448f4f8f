import { idsExistingAt } from "#projections/existingAt.ts";
import { fold } from "#streams/decider.ts";
import { workspaceDecider } from "#streams/workspace/decider.ts";
import { type WorkspaceEvent, workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { type CurrentPlan, planOf } from "../plans/plans.ts";
import { countedStreams, type Direction } from "../plans/quotas.ts";
import { eventsUntil } from "./eventsUntil.ts";
import { usedAt } from "./usageAt.ts";

/** A plan and its usage at a time. The plan's limits are those that the installation gives it now. */
export type PlanUsage = {
  plan: CurrentPlan;
  sent: number;
  received: number;
  identities: number;
  rules: number;
  domains: number;
};

/** Returns a workspace's plan and its usage as they were at a time; undefined if the workspace did not exist yet. */
export async function subscriptionAt(
  deps: Dependencies,
  workspaceId: string,
  at: Date,
): Promise<PlanUsage | undefined> {
  const events = await eventsUntil<WorkspaceEvent>(deps.store, workspaceStream(workspaceId), at);
  const workspace = fold(workspaceDecider, events);
  if (!workspace.exists) return undefined;
  const plan = planOf(deps, workspace, at);
  const usage = async (direction: Direction): Promise<number> => {
    const each = countedStreams(workspaceId, direction, plan).map((stream) => usedAt(deps, stream, at));
    return (await Promise.all(each)).reduce((sum, used) => sum + used, 0);
  };
  const existing = async (table: "identities" | "rules" | "domains"): Promise<number> =>
    (await idsExistingAt(deps.reads, workspaceId, { table, at })).length;
  const [sent, received, identities, rules, domains] = await Promise.all([
    usage("outbound"),
    usage("inbound"),
    existing("identities"),
    existing("rules"),
    existing("domains"),
  ]);
  return { plan, sent, received, identities, rules, domains };
}
