import type { Rule } from "#streams/rule/decider.ts";
import type { TriggerEvent } from "#streams/rule/events.ts";
import { oldestFirst } from "#streams/slots/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { capOf } from "../plans/plans.ts";
import { freshStates, keptStates, type Loader } from "../states/loader.ts";

/** A rule that works: it is active, and among those that the plan allows. */
export type WorkingRule = Rule & { id: string };

/** What works in a workspace on each trigger, in the order in which the rules are walked. */
export type WorkingRules = (trigger: TriggerEvent) => readonly WorkingRule[];

/**
 * A workspace's rules as their own streams have them at this moment (linearisable): what is approved without a person hangs on them, so no
 * read model is asked. Which rules there are, the places in the plan tell: every rule has taken one before it was made, and keeps it until it
 * is deleted. Above the plan's cap those with the newest places do not work.
 */
export async function workingRules(deps: Dependencies, workspaceId: string): Promise<WorkingRules> {
  const [cap, all] = await Promise.all([capOf(deps, workspaceId, "rules"), rulesOf(deps, workspaceId)]);
  const working = all.slice(0, cap ?? all.length).filter(({ status }) => status === "active");
  const inOrder = working.sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
  return (trigger) => inOrder.filter(({ triggerEvent }) => triggerEvent === trigger);
}

/** All rules that there are, those with the oldest places first. If a place has changed once they are read, they are read again: so they are of one moment. */
async function rulesOf(deps: Dependencies, workspaceId: string): Promise<WorkingRule[]> {
  const places = { workspaceId, kind: "rules" } as const;
  for (let known = await keptStates(deps).slots.load(places); ; ) {
    const loader = freshStates(deps);
    const rules = await Promise.all(oldestFirst(known.state).map((id) => ruleIfAny(loader, id)));
    const now = await deps.slots.fresh(places);
    if (now.revision === known.revision) return rules.filter((rule) => rule !== undefined);
    known = now;
  }
}

/** Undefined for one whose making was cut off, or that was deleted: one that a kept state says is deleted stays so. */
async function ruleIfAny(loader: Loader, id: string): Promise<WorkingRule | undefined> {
  const { state: kept } = await keptStates(loader).rules.load(id);
  if (kept.deleted) return undefined;
  const { state } = await loader.rules.load(id);
  return state.exists && !state.deleted ? { ...state, id } : undefined;
}
