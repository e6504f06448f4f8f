import { asksForClaims, type Facts, passes } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings, TriggerEvent } from "../rule/events.ts";
import { hangsOnClaims } from "./doubt.ts";
import type { PlannedAction, RuleResult } from "./events.ts";

/** A rule as it stood when it was walked. */
export type WalkedRule = Pick<RuleSettings, "name" | "conditions" | "actions" | "stopAfterMatch"> & {
  id: string;
  version: number;
};

export type Circumstances = {
  trigger: TriggerEvent;
  facts: Facts;
  /** The inbound message in question passed DMARC with alignment (decisions 8). */
  proven: boolean;
  /** The identity requires human approval (decisions 2). */
  humanRequired: boolean;
  /** Rules that already ran on this subject in the same chain of causes, and whether that chain is too long. */
  ranBefore: ReadonlySet<string>;
  chainEnded: boolean;
};

/** Walks rules in their order. A rule sees what those before it did: the thread's status, the contact's tags. */
export function planRun(rules: readonly WalkedRule[], circumstances: Circumstances): RuleResult[] {
  const results: RuleResult[] = [];
  let { facts } = circumstances;
  const claimed = circumstances.proven ? [] : hangsOnClaims(rules.map(inThisRun(circumstances)), facts);
  for (const [index, rule] of rules.entries()) {
    const matched = passes(rule.conditions, facts);
    const onClaims = asksForClaims(rule.conditions) || claimed[index] === true;
    const actions = matched ? rule.actions.map((action) => plan(action, { rule, onClaims }, circumstances)) : [];
    for (const { action, suppressed } of actions) if (suppressed === null) facts = after(action, facts);
    results.push({ ruleId: rule.id, ruleName: rule.name, version: rule.version, matched, actions });
    if (matched && rule.stopAfterMatch) break;
  }
  lastApprovalDecides(results);
  return results;
}

/** A rule that ran before does nothing this time. */
const inThisRun =
  ({ ranBefore }: Circumstances) =>
  (rule: WalkedRule): WalkedRule =>
    ranBefore.has(rule.id) ? { ...rule, actions: [] } : rule;

/** `onClaims`: whether it matches, or its grant stands, hangs on what the sender claims to be. */
type Walking = { rule: WalkedRule; onClaims: boolean };

function plan(action: RuleAction, walking: Walking, circumstances: Circumstances): PlannedAction {
  return { action, suppressed: suppression(action, walking, circumstances) };
}

function suppression(action: RuleAction, { rule, onClaims }: Walking, at: Circumstances): string | null {
  if (at.ranBefore.has(rule.id)) return "this rule already ran here: an action's event does not trigger it again";
  if (at.chainEnded) return "too many rules set each other in motion";
  if (action.type === "add_tag" && !at.facts.has("contact.domain")) return "there is no contact to tag";
  if (action.type === "skip_approval" && at.trigger === "email.received") {
    return "there is no draft yet: use set_approval_mode";
  }
  if (action.type === "set_approval_mode" && at.trigger !== "email.received" && at.trigger !== "draft.created") {
    return "set_approval_mode has an effect at email.received and draft.created only";
  }
  if (!grants(action)) return null;
  if (at.humanRequired) return "this identity requires human approval";
  if (onClaims && !at.proven) {
    return "the sender is not proven: the message did not pass DMARC with alignment";
  }
  return null;
}

/** Lets a draft go without a person. */
const grants = (action: RuleAction): boolean =>
  action.type === "skip_approval" || (action.type === "set_approval_mode" && action.mode === "auto");

export const isAboutApproval = (action: RuleAction): boolean =>
  action.type === "skip_approval" || action.type === "set_approval_mode";

/** Of several actions about one draft's approval the last one counts, as if each undid the one before. */
function lastApprovalDecides(results: readonly RuleResult[]): void {
  const all = results.flatMap(({ actions }) => actions);
  const about = all.filter(({ action, suppressed }) => suppressed === null && isAboutApproval(action));
  for (const earlier of about.slice(0, -1)) earlier.suppressed = "a later action decides about the approval";
}

function after(action: RuleAction, facts: Facts): Facts {
  if (action.type === "set_thread_status") return new Map(facts).set("thread.status", [action.status]);
  if (action.type === "add_tag") {
    return new Map(facts).set("contact.tag", [...(facts.get("contact.tag") ?? []), action.tag]);
  }
  return facts;
}
