import { evaluateConditions, type Facts } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings, TriggerEvent } from "../rule/events.ts";
import type { PlannedAction, RuleResult } from "./events.ts";
import { type Basis, type Exchange, grantBases, isGrant, isManual, notEvaluated, whyGrantFails } from "./grants.ts";
import { withTag } from "./uncertainty.ts";

/** A rule as it was when evaluated. */
export type WalkedRule = Pick<RuleSettings, "name" | "conditions" | "actions" | "stopAfterMatch"> & {
  id: string;
  version: number;
};

export type Circumstances = {
  trigger: TriggerEvent;
  facts: Facts;
  /** The message's sender and its proof, and the recipients of the answer. */
  exchange: Exchange;
  /** True if the identity requires human approval. */
  humanRequired: boolean;
  /** Number of approvals required; if more than one, nothing grants. One if absent. */
  approvalsRequired?: number;
  /** Rules that already ran on this subject in the same chain of causes; `chainEnded`: that chain is too long. */
  ranBefore: ReadonlySet<string>;
  chainEnded: boolean;
};

/** Evaluates rules in order. A rule sees the changes of those before it: the thread's status, the contact's tags. */
export function planRun(
  rules: readonly WalkedRule[],
  circumstances: Circumstances,
  bases: readonly Basis[] = grantBases(
    [{ rules: rules.map(limitToRun(circumstances)), facts: circumstances.facts }],
    circumstances.exchange.mail?.proof === "proven",
  )[0] as Basis[],
): RuleResult[] {
  const results: RuleResult[] = [];
  let { facts } = circumstances;
  for (const [index, rule] of rules.entries()) {
    const passed = evaluateConditions(rule.conditions, facts);
    // A rule that was not evaluated in time counts as matched, but only its `manual` takes effect; the evaluation continues.
    const matched = passed !== false;
    const walking = { rule, basis: bases[index] as Basis, isKnown: passed === true };
    const actions = matched ? rule.actions.map((action) => plan(action, walking, circumstances)) : [];
    for (const { action, suppressed } of actions) if (suppressed === null) facts = after(action, facts);
    results.push({ ruleId: rule.id, ruleName: rule.name, version: rule.version, matched, actions });
    if (passed && rule.stopAfterMatch) break;
  }
  lastApprovalDecides(results);
  return results;
}

/** Returns a rule for this run: without actions if it ran before, or if the chain has ended. */
export const limitToRun =
  ({ ranBefore, chainEnded }: Pick<Circumstances, "ranBefore" | "chainEnded">) =>
  (rule: WalkedRule): WalkedRule =>
    chainEnded || ranBefore.has(rule.id) ? { ...rule, actions: [] } : rule;

/** `isKnown`: it is known that the rule matches. */
type Walking = { rule: WalkedRule; basis: Basis; isKnown: boolean };

function plan(action: RuleAction, walking: Walking, circumstances: Circumstances): PlannedAction {
  return { action, suppressed: suppression(action, walking, circumstances) };
}

function suppression(action: RuleAction, { rule, basis, isKnown }: Walking, at: Circumstances): string | null {
  if (!isKnown && !isManual(action)) return notEvaluated;
  if (at.ranBefore.has(rule.id))
    return "this rule has already run on this chain of events: its own actions do not trigger it again";
  if (at.chainEnded) return "too many rules triggered each other in a row";
  if (action.type === "add_tag" && !at.facts.has("contact.domain")) return "there is no contact to tag";
  if (action.type === "skip_approval" && at.trigger === "email.received") {
    return "there is no draft yet: use set_approval_mode";
  }
  if (action.type === "set_approval_mode" && at.trigger !== "email.received" && at.trigger !== "draft.created") {
    return "set_approval_mode only works at email.received and draft.created";
  }
  if (!isGrant(action)) return null;
  if (at.humanRequired) return "this identity requires human approval";
  const { approvalsRequired = 1 } = at;
  if (approvalsRequired > 1) return `this identity requires ${approvalsRequired} approvals`;
  return whyGrantFails(basis, at.exchange);
}

export const isAboutApproval = (action: RuleAction): boolean =>
  action.type === "skip_approval" || action.type === "set_approval_mode";

/**
 * Stored reason why an action about a draft's approval was planned but is not carried out. It distinguishes such a grant from one that did
 * not hold.
 */
const superseded = "a later action of this rule decides about the approval";

/** Keeps only the last of several actions about one draft's approval, as if each undid the one before. */
function lastApprovalDecides(results: readonly RuleResult[]): void {
  const all = results.flatMap(({ actions }) => actions);
  const about = all.filter(({ action, suppressed }) => suppressed === null && isAboutApproval(action));
  for (const earlier of about.slice(0, -1)) earlier.suppressed = superseded;
}

/** True if an action took effect on the approval, even if a later one replaced it. */
export const tookEffect = ({ action, suppressed }: PlannedAction): boolean =>
  isAboutApproval(action) && (suppressed === null || suppressed === superseded);

function after(action: RuleAction, facts: Facts): Facts {
  if (action.type === "set_thread_status") return new Map(facts).set("thread.status", [action.status]);
  return action.type === "add_tag" ? withTag(facts, action.tag) : facts;
}
