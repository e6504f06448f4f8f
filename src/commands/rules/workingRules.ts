import type { Rule } from "#streams/rule/decider.ts";
import type { TriggerEvent } from "#streams/rule/events.ts";
import { holdersOldestFirst } from "#streams/slots/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { capOf } from "../plans/plans.ts";
import { cachedStates, freshStates, type Loader } from "../states/loader.ts";

/** A rule in effect: it is active and within the plan's limit. */
export type WorkingRule = Rule & { id: string };

/** Returns a workspace's rules in effect for a trigger, in the order of evaluation. */
export type WorkingRules = (trigger: TriggerEvent) => readonly WorkingRule[];

/**
 * Reads a workspace's rules from their own streams (linearisable) instead of a read model, because approvals without a person depend on
 * them. The plan's slots list the rules: a rule takes its slot before it is created and keeps it until it is deleted. Above the plan's
 * limit the rules with the newest slots are not in effect.
 */
export async function workingRules(deps: Dependencies, workspaceId: string): Promise<WorkingRules> {
  const [cap, all] = await Promise.all([capOf(deps, workspaceId, "rules"), rulesOf(deps, workspaceId)]);
  const working = all.slice(0, cap ?? all.length).filter(({ status }) => status === "active");
  const inOrder = working.sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
  return (trigger) => inOrder.filter(({ triggerEvent }) => triggerEvent === trigger);
}

/**
 * Returns all existing rules, ordered by their slots, oldest first. If the slots change meanwhile, reads again, so that all rules are from
 * one moment.
 */
async function rulesOf(deps: Dependencies, workspaceId: string): Promise<WorkingRule[]> {
  const places = { workspaceId, kind: "rules" } as const;
  for (let known = await cachedStates(deps).slots.load(places); ; ) {
    const loader = freshStates(deps);
    const rules = await Promise.all(holdersOldestFirst(known.state).map((id) => ruleIfAny(loader, id)));
    const now = await deps.slots.fresh(places);
    if (now.revision === known.revision) return rules.filter((rule) => rule !== undefined);
    known = now;
  }
}

/**
 * Returns a rule; undefined if its creation was interrupted or it was deleted. A deleted rule stays deleted, so a cached state suffices to
 * see that.
 */
async function ruleIfAny(loader: Loader, id: string): Promise<WorkingRule | undefined> {
  const { state: kept } = await cachedStates(loader).rules.load(id);
  if (kept.deleted) return undefined;
  const { state } = await loader.rules.load(id);
  return state.exists && !state.deleted ? { ...state, id } : undefined;
}
