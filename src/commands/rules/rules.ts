import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { notFound, Rejected } from "#streams/decider.ts";
import { readActions } from "#streams/rule/actions.ts";
import { readConditions } from "#streams/rule/conditions.ts";
import type { Rule } from "#streams/rule/decider.ts";
import { type RuleSettings, ruleStream, type TriggerEvent, triggerEvents } from "#streams/rule/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId } from "../ids.ts";
import { capOf } from "../plans/plans.ts";
import { type HolderState, planFullRefusal, type TakenSlot, takeSlot, vacateSlot } from "../plans/slots.ts";
import { requireOutsideAddress, sealActions } from "./ruleSecrets.ts";

export { warningsOf } from "#streams/ruleRun/grants.ts";

/** Maximum size in bytes, as JSON, of a rule's conditions, and likewise of its actions. */
const maxJsonBytes = 10_240;

/** A rule as given by the caller, not validated yet. */
export type GivenRule = Omit<RuleSettings, "triggerEvent" | "conditions" | "actions"> & {
  triggerEvent: string;
  conditions: unknown;
  actions: unknown;
};

/**
 * Validates a rule's settings. `at`: prefix for field names in error messages. Throws Rejected validation for an unknown trigger or too
 * large conditions or actions, and invalid_request with the path of any other fault.
 */
export function validateRule(given: GivenRule, at = ""): RuleSettings {
  const triggerEvent = requireTrigger(given.triggerEvent, `${at}trigger_event`);
  requireSize(given.conditions, `${at}conditions`);
  requireSize(given.actions, `${at}actions`);
  const conditions = readConditions(triggerEvent, given.conditions, `${at}conditions`);
  const actions = readActions(given.actions, `${at}actions`);
  return { ...given, triggerEvent, conditions, actions };
}

function requireTrigger(given: string, field: string): TriggerEvent {
  const trigger = triggerEvents.find((known) => known === given);
  if (trigger) return trigger;
  throw new Rejected("validation", `${field}: expected one of ${triggerEvents.join(", ")}`, { field });
}

function requireSize(value: unknown, field: string): void {
  if (Buffer.byteLength(JSON.stringify(value)) <= maxJsonBytes) return;
  throw new Rejected("validation", `${field}: expected at most ${maxJsonBytes} bytes as JSON`, { field });
}

/**
 * Creates a rule after taking its slot in the plan. Throws Rejected for the reasons of validateRule, not_found naming the field, and
 * plan_limit_reached.
 */
export async function createRule(
  deps: Dependencies,
  { workspaceId, given }: { workspaceId: string; given: GivenRule },
  cause: Cause,
): Promise<{ ruleId: string; position: number }> {
  const judged = validateRule(given);
  await requireOutsideAddress(deps, "actions", judged.actions);
  const actions = sealActions(deps, { workspaceId, path: "actions" }, { given: judged.actions, stored: [] });
  await requireScope(deps, { workspaceId, scope: judged });
  const ruleId = newId(deps, cause, "rule");
  if (cause.repeated) {
    const { state, position } = await deps.rules.load(ruleId);
    if (state.exists) return { ruleId, position };
  }
  const command = { type: "CreateRule", workspaceId, settings: { ...judged, actions } } as const;
  for (;;) {
    const { guard } = await takeRuleSlot(deps, { workspaceId, ruleId }, cause);
    try {
      const { position } = await deps.rules.handle(ruleId, command, { ...cause, unlessMoved: [guard] });
      return { ruleId, position };
    } catch (error) {
      // Another request may have freed this rule's slot, because it seemed abandoned. A rule must not exist without a slot, because the
      // slots list the rules.
      if (!(error instanceof StreamMoved) || error.stream !== guard.stream) throw error;
    }
  }
}

async function takeRuleSlot(
  deps: Dependencies,
  { workspaceId, ruleId }: { workspaceId: string; ruleId: string },
  cause: Cause,
): Promise<TakenSlot> {
  const cap = await capOf(deps, workspaceId, "rules");
  const slot = { workspaceId, kind: "rules", holderId: ruleId } as const;
  const known = { stateOf: (id: string) => holderState(deps, id), streamOf: ruleStream };
  return takeSlot(deps, { ...slot, cap, ...known }, cause).catch((error) => {
    if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
    throw planFullRefusal("rules", cap);
  });
}

async function holderState(deps: Dependencies, ruleId: string): Promise<HolderState> {
  const { state: rule } = await deps.rules.load(ruleId);
  if (!rule.exists) return "unborn";
  return rule.deleted ? "gone" : "alive";
}

/** Changes the given settings and keeps the rest; the whole rule is validated again. */
export async function updateRule(
  deps: Dependencies,
  { workspaceId, ruleId, changes }: { workspaceId: string; ruleId: string; changes: Partial<GivenRule> },
  cause: Cause,
): Promise<{ position: number }> {
  const rule = await requireRule(deps, workspaceId, ruleId);
  const judged = validateRule(withChanges(rule, changes));
  if (changes.actions !== undefined) await requireOutsideAddress(deps, "actions", judged.actions);
  await requireScope(deps, { workspaceId, scope: changes });
  // Validate again on the state that is changed, because another request may change the trigger at the same time.
  const command = (current: Rule) => {
    const { actions, ...settings } = validateRule(withChanges(current, changes));
    const sealed =
      changes.actions === undefined
        ? current.actions
        : sealActions(deps, { workspaceId, path: "actions" }, { given: actions, stored: current.actions });
    return { type: "UpdateRule", changes: { ...settings, actions: sealed } } as const;
  };
  return deps.rules.handle(ruleId, command, cause);
}

const settingNames = [
  "name",
  "triggerEvent",
  "conditions",
  "actions",
  "status",
  "priority",
  "stopAfterMatch",
  "identityId",
  "assistantId",
] as const satisfies (keyof RuleSettings)[];

/** Merges changes into a rule. Only given actions are measured, because stored ones are larger by their encryption. */
function withChanges(rule: Rule, changes: Partial<GivenRule>): GivenRule {
  const settings = Object.fromEntries(settingNames.map((name) => [name, changes[name] ?? rule[name]])) as GivenRule;
  if (changes.identityId === null) settings.identityId = null;
  if (changes.assistantId === null) settings.assistantId = null;
  if (changes.actions === undefined) settings.actions = [];
  return settings;
}

export async function deleteRule(
  deps: Dependencies,
  { workspaceId, ruleId }: { workspaceId: string; ruleId: string },
  cause: Cause,
): Promise<{ position: number }> {
  await requireRule(deps, workspaceId, ruleId);
  const deleted = await deps.rules.handle(ruleId, { type: "DeleteRule" }, cause);
  // If freeing the slot fails, a later request that needs a slot will free it.
  await vacateSlot(deps, { workspaceId, kind: "rules", holderId: ruleId }, cause).catch(() => undefined);
  return deleted;
}

async function requireRule(deps: Dependencies, workspaceId: string, ruleId: string): Promise<Rule> {
  const { state: rule } = await deps.rules.load(ruleId);
  if (!rule.exists || rule.deleted || rule.workspaceId !== workspaceId) throw new Rejected("not_found", "no such rule");
  return rule;
}

/** Throws not_found naming the field if the rule's identity or assistant is not this workspace's. */
export async function requireScope(
  deps: Dependencies,
  { workspaceId, scope }: { workspaceId: string; scope: { identityId?: string | null; assistantId?: string | null } },
  at = "",
): Promise<void> {
  const { identityId, assistantId } = scope;
  if (identityId) {
    const { state } = await deps.identities.load(identityId);
    const ours = state.exists && !state.deleted && state.workspaceId === workspaceId;
    if (!ours) throw notFound(`${at}identity_id`, "identity");
  }
  if (assistantId) {
    const { state } = await deps.assistants.load(assistantId);
    const ours = state.exists && !state.deleted && state.workspaceId === workspaceId;
    if (!ours) throw notFound(`${at}assistant_id`, "assistant");
  }
}
