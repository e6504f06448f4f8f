import { isForgeableField } from "../rule/content.ts";
import type { RuleResult } from "./events.ts";
import { type Exchange, grantBases, isGrant, isManual, mayAnswerBeGranted, type RuleWalk } from "./grants.ts";
import { planRun, tookEffect, type WalkedRule } from "./plan.ts";
import { maySetStatus, possibleTurns, type RuleTurn } from "./uncertainty.ts";

/** Source of a grant: a rule, by its id, or the identity's auto_approve_replies. */
export type Source = { kind: "switch" } | { kind: "rule"; ruleId: string };

/** Input of the decision about one draft. */
export type ApprovalQuestion = {
  /** Walk through the message's rules. They decide about the draft before the draft's own rules do. */
  received: RuleWalk<WalkedRule>;
  created: RuleWalk<WalkedRule>;
  exchange: Exchange;
  humanRequired: boolean;
  /** Number of approvals required; one if absent. */
  approvalsRequired?: number;
  /** True if auto_approve_replies is on, and the draft was submitted under it. */
  switchOn: boolean;
};

/** Result: the rules that approve the draft automatically; why none does; or the rule that requires a person. */
export type ApprovalDecision = {
  by: Source[];
  /** The rule that requires a person, if such a rule decides. */
  manual: { ruleId: string; ruleName: string; version: number; reason: string } | null;
  /** Grants that matched but do not hold, by rule. */
  refused: { ruleId: string; index: number; reason: string }[];
};

/**
 * Decides whether a draft is sent without a person. Applies in order: the switch, the rules of the message, the rules of the draft. A valid
 * grant adds itself, and a `manual` cancels all grants before it.
 */
export function decideApproval(question: ApprovalQuestion): ApprovalDecision {
  const { exchange, humanRequired, approvalsRequired = 1, switchOn } = question;
  const walks = [question.received, question.created] as const;
  const proven = exchange.mail?.proof === "proven";
  const bases = grantBases(walks, proven);
  const overlooked = switchOn && !proven ? overlookedManuals(walks) : [[], []];
  const decision: ApprovalDecision = {
    by:
      switchOn && !humanRequired && approvalsRequired === 1 && mayAnswerBeGranted(exchange.mail)
        ? [{ kind: "switch" }]
        : [],
    manual: null,
    refused: [],
  };
  for (const [walk, trigger] of (["email.received", "draft.created"] as const).entries()) {
    const { rules, facts } = walks[walk] as RuleWalk<WalkedRule>;
    const at = { trigger, facts, exchange, humanRequired, approvalsRequired, ranBefore: nobody, chainEnded: false };
    const results = planRun(rules, at, bases[walk]);
    for (const [index, rule] of rules.entries()) {
      const result = results[index];
      if (result?.matched) hear(result, decision);
      else if (overlooked[walk]?.[index]) askPerson(rule, unprovenManual(rule), decision);
    }
  }
  return decision;
}

const nobody: ReadonlySet<string> = new Set();

function hear(result: RuleResult, decision: ApprovalDecision): void {
  for (const [index, planned] of result.actions.entries()) {
    const { action, suppressed } = planned;
    if (tookEffect(planned)) {
      if (isManual(action)) askPerson({ ...result, id: result.ruleId, name: result.ruleName }, null, decision);
      else {
        decision.by.push({ kind: "rule", ruleId: result.ruleId });
        decision.manual = null;
      }
    } else if (isGrant(action) && suppressed !== null) {
      decision.refused.push({ ruleId: result.ruleId, index, reason: suppressed });
    }
  }
}

function askPerson(
  { id, name, version }: Pick<WalkedRule, "id" | "name" | "version">,
  reason: string | null,
  decision: ApprovalDecision,
): void {
  decision.by = [];
  decision.manual = {
    ruleId: id,
    ruleName: name,
    version,
    reason: reason ?? `the rule ${name} requires a person's approval`,
  };
}

const unprovenManual = ({ name }: WalkedRule): string =>
  `the rule ${name} requires a person's approval unless the message is from a certain sender, and the sender is not proven`;

/**
 * Finds rules with a `manual` that did not apply, but might for another sender. The draft's own rules see what the message's rules may have
 * done to the thread's status.
 */
function overlookedManuals([received, created]: readonly [RuleWalk<WalkedRule>, RuleWalk<WalkedRule>]): boolean[][] {
  const first = possibleTurns(received.rules, received.facts, isForgeableField);
  const statusMoved = maySetStatus(received.rules, received.facts, isForgeableField);
  const unsure = (field: string) => isForgeableField(field) || (statusMoved && field === "thread.status");
  const second = possibleTurns(created.rules, created.facts, unsure);
  const overlooked = ({ rules }: RuleWalk<WalkedRule>, turns: readonly RuleTurn[]) =>
    rules.map(({ actions }, index) => turns[index]?.maybe === true && actions.some(isManual));
  return [overlooked(received, first), overlooked(created, second)];
}

/** Returns the rules that granted in a recorded run, and were not cancelled by a later `manual`. */
export function grantedIn(results: readonly RuleResult[]): string[] {
  let granted: string[] = [];
  for (const { ruleId, actions } of results) {
    for (const planned of actions.filter(tookEffect)) granted = isManual(planned.action) ? [] : [...granted, ruleId];
  }
  return granted;
}

/** True if an earlier source of the grant still grants, and no `manual` decides after it. */
export const stillGranted = (decision: ApprovalDecision, granted: readonly Source[]): boolean =>
  decision.by.some((now) => granted.some((then) => sameSource(now, then)));

const sameSource = (one: Source, other: Source): boolean =>
  one.kind === "switch" ? other.kind === "switch" : other.kind === "rule" && one.ruleId === other.ruleId;
