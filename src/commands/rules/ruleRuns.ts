import { rulesRunBefore } from "#projections/ruleEvaluations/queries.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import type { TriggerEvent } from "#streams/rule/events.ts";
import { actionKey, approvalModeOf, type RuleRun } from "#streams/ruleRun/decider.ts";
import type { RuleResult } from "#streams/ruleRun/events.ts";
import { grantBases, type RuleWalk } from "#streams/ruleRun/grants.ts";
import { limitToRun, planRun, type WalkedRule } from "#streams/ruleRun/plan.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { takeAction } from "./ruleActions.ts";
import { factsToStore, type RuleInput, withText } from "./ruleFacts.ts";
import type { Outlets } from "./ruleNotices.ts";
import { type WorkingRule, workingRules } from "./workingRules.ts";

/** A trigger event whose rules are evaluated. `runId`: equal in each repetition. */
export type RuleTrigger = {
  trigger: TriggerEvent;
  runId: string;
  triggerEventId: string;
  workspaceId: string;
};

/**
 * Returns the id of a message's run. It is derived from the message, so that the message's rules run once, however often that is requested.
 */
export const receivedRunId = (messageId: string): string => derivedId("rules", "email.received", messageId);

/** Maximum number of consecutive rule runs about one subject. */
const maxChain = 16;

type ToEvaluate = {
  trigger: RuleTrigger;
  about(): Promise<RuleInput>;
  before?(): Promise<RuleWalk<WalkedRule>[]>;
};

/**
 * Evaluates the rules of a trigger event once. The decision is recorded before any action; a repetition returns the recorded one. Returns
 * null if no rules are in scope. `about` is called only if there are rules. `before` returns the earlier walk about the same draft, if any;
 * it is also called only then. The read model of evaluations must have reached the trigger event, unless that event begins its message or
 * draft.
 */
export async function evaluateRules(
  deps: Dependencies,
  { trigger, about, before = async () => [] }: ToEvaluate,
  cause: Cause,
): Promise<RuleRun | null> {
  const earlier = await deps.ruleRuns.load(trigger.runId);
  if (earlier.state.evaluated) return earlier.state;
  const rules = (await workingRules(deps, trigger.workspaceId))(trigger.trigger);
  if (rules.length === 0) return null;
  const asked = await about();
  const inScope = rulesInScope(rules, asked);
  if (inScope.length === 0) return null;
  const known = await withText(deps, trigger.workspaceId, { about: asked, rules: inScope });
  const { subject, facts, humanRequired, approvalsRequired, exchange } = known;
  const chain = await chainOf(deps, { ...trigger, subjectId: subject.draftId ?? subject.messageId }, cause);
  const { trigger: triggerEvent, triggerEventId, workspaceId } = trigger;
  const walks = [...(await before()), { rules: inScope.map(limitToRun(chain)), facts }];
  const bases = grantBases(walks, exchange.mail?.proof === "proven").at(-1);
  const results = planRun(
    inScope,
    { trigger: triggerEvent, facts, exchange, humanRequired, approvalsRequired, ...chain },
    bases,
  );
  const evaluated = { workspaceId, triggerEvent, triggerEventId, subject, results, facts: factsToStore(facts) };
  const { state } = await deps.ruleRuns.handle(trigger.runId, { type: "RecordEvaluation", evaluated }, cause);
  return state;
}

/** Selects the workspace's rules in scope of a subject, in the form used by a walk. */
export const rulesInScope = (
  rules: readonly WorkingRule[],
  { subject, assistantId }: Pick<RuleInput, "subject" | "assistantId">,
): WalkedRule[] => rules.filter((rule) => isInScope(rule, subject.identityId, assistantId)).map(walked);

/**
 * Returns true if no rule can affect a draft that answers this message: no rules are in scope, and no earlier run set a mode for the draft.
 */
export async function canNoRuleApply(
  deps: Dependencies,
  about: { workspaceId: string; identityId: string; assistantId: string | null; basedOnMessageId: string },
): Promise<boolean> {
  const { workspaceId, identityId, assistantId, basedOnMessageId } = about;
  const [rules, { state: received }] = await Promise.all([
    workingRules(deps, workspaceId),
    deps.ruleRuns.load(receivedRunId(basedOnMessageId)),
  ]);
  const asked = [...rules("email.received"), ...rules("draft.created")];
  return !asked.some((rule) => isInScope(rule, identityId, assistantId)) && approvalModeOf(received) === null;
}

export const isInScope = (
  rule: Pick<WorkingRule, "identityId" | "assistantId">,
  identityId: string,
  assistantId: string | null,
): boolean =>
  (rule.identityId === null || rule.identityId === identityId) &&
  (rule.assistantId === null || rule.assistantId === assistantId);

const walked = ({ id, version, name, conditions, actions, stopAfterMatch }: WorkingRule): WalkedRule => ({
  id,
  version,
  name,
  conditions,
  actions,
  stopAfterMatch,
});

/**
 * Triggers that begin a message or a draft. No rule has run about it before, so earlier runs are not read. Approvals without a person
 * depend on this.
 */
const beginnings: readonly TriggerEvent[] = ["email.received", "draft.created"];

/** Finds the earlier runs about the same subject that the same request or mail caused. */
async function chainOf(
  deps: Dependencies,
  { trigger, workspaceId, runId, subjectId }: RuleTrigger & { subjectId: string | null },
  { correlationId }: Cause,
): Promise<{ ranBefore: ReadonlySet<string>; chainEnded: boolean }> {
  if (subjectId === null || beginnings.includes(trigger)) return { ranBefore: new Set(), chainEnded: false };
  const before = await rulesRunBefore(deps.reads, workspaceId, { correlationId, subjectId, runId });
  const runs = new Set(before.map((evaluation) => evaluation.run_id));
  return { ranBefore: new Set(before.map((evaluation) => evaluation.rule_id)), chainEnded: runs.size >= maxChain };
}

/** Part of a run's actions. `quick`: actions that change this service's own state. `notices`: messages to people, which may take long. */
export type RunPart = "quick" | "notices";

/**
 * Takes the pending actions of a run in order, and records each right after it was taken. Returns true if no action is left for a later
 * try.
 */
export async function runActions(
  deps: Dependencies,
  { outlets, runId, part }: { outlets: Outlets; runId: string; part: RunPart },
  cause: Cause,
): Promise<boolean> {
  const { state: run } = await deps.ruleRuns.load(runId);
  let complete = true;
  for (const { rule, index } of leftToDo(run, part)) {
    const { ruleId } = rule;
    const { outcome, reason } = await takeAction(deps, { outlets, run, runId, rule, index }, cause);
    crashPoint("rules:acted");
    await deps.ruleRuns.handle(runId, { type: "RecordAction", ruleId, index, outcome, reason }, cause);
    crashPoint("rules:recorded");
    if (outcome === "failed") complete = false;
  }
  return complete;
}

function leftToDo(run: RuleRun, part: RunPart): { rule: RuleResult; index: number }[] {
  const all = (run.evaluated?.results ?? []).flatMap((rule) =>
    rule.actions.map(({ action, suppressed }, index) => ({ rule, index, action, suppressed })),
  );
  return all.filter(({ rule, index, action, suppressed }) => {
    const outcome = run.outcomes[actionKey(rule.ruleId, index)]?.outcome;
    const isNotice = action.type === "notify_channel";
    return suppressed === null && isNotice === (part === "notices") && (outcome === undefined || outcome === "failed");
  });
}
