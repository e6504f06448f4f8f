import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ActionOutcome, type RuleResult, type RuleRunEvent, ruleRunStream } from "./events.ts";

type Evaluated = Extract<RuleRunEvent, { type: "RulesEvaluated" }>["data"];
type ActionTaken = Extract<RuleRunEvent, { type: "RuleActionTaken" }>["data"];

export type RuleRun = {
  /** Result of the evaluation; null before it. */
  evaluated: Evaluated | null;
  /** Outcomes of actions, by `rule/index`. */
  outcomes: Readonly<Record<string, { outcome: ActionOutcome; reason: string | null }>>;
  modeUsedBy: string | null;
  /** True if the draft may not use the mode, because its grant does not hold for the draft's recipients. */
  modeSuppressed: boolean;
};

export type RuleRunCommand =
  | { type: "RecordEvaluation"; evaluated: Evaluated }
  | ({ type: "RecordAction" } & ActionTaken)
  /** `suppressed`: it may not be used for this draft, but counts as used. */
  | { type: "UseMode"; draftId: string; suppressed?: { ruleId: string; index: number; reason: string } };

const initial: RuleRun = { evaluated: null, outcomes: {}, modeUsedBy: null, modeSuppressed: false };

export const actionKey = (ruleId: string, index: number): string => `${ruleId}/${index}`;

function evolve(run: RuleRun, event: RuleRunEvent): RuleRun {
  switch (event.type) {
    case "RulesEvaluated":
      return { ...run, evaluated: event.data };
    case "RuleActionTaken": {
      const { ruleId, index, outcome, reason } = event.data;
      return { ...run, outcomes: { ...run.outcomes, [actionKey(ruleId, index)]: { outcome, reason } } };
    }
    case "ApprovalModeUsed":
      return { ...run, modeUsedBy: event.data.draftId, modeSuppressed: event.data.suppressed !== undefined };
    default:
      return unreachable(event);
  }
}

function decide(command: RuleRunCommand, run: RuleRun): RuleRunEvent[] {
  switch (command.type) {
    case "RecordEvaluation":
      // A second caller carries out the first one's decision.
      return run.evaluated ? [] : [{ type: "RulesEvaluated", data: command.evaluated }];
    case "RecordAction": {
      const { type: _, ...taken } = command;
      const known = run.outcomes[actionKey(taken.ruleId, taken.index)];
      const settled = known && (known.outcome !== "failed" || taken.outcome === "failed");
      return settled ? [] : [{ type: "RuleActionTaken", data: taken }];
    }
    case "UseMode":
      if (run.modeUsedBy !== null || approvalModeOf(run) === null) return [];
      return [
        {
          type: "ApprovalModeUsed",
          data: { draftId: command.draftId, ...(command.suppressed && { suppressed: command.suppressed }) },
        },
      ];
    default:
      return unreachable(command);
  }
}

/** Returns the approval mode that a run of email.received leaves for the next draft, with its rule and the index of its action. */
export function approvalModeOf({
  evaluated,
}: Pick<RuleRun, "evaluated">): { mode: "manual" | "auto"; rule: RuleResult; index: number } | null {
  for (const rule of evaluated?.results ?? []) {
    for (const [index, { action, suppressed }] of rule.actions.entries()) {
      if (action.type === "set_approval_mode" && suppressed === null) return { mode: action.mode, rule, index };
    }
  }
  return null;
}

export const ruleRunDecider: Decider<RuleRun, RuleRunCommand, RuleRunEvent> = {
  category: "ruleRun",
  initial,
  evolve,
  decide,
};

export const ruleRuns = stream({ decider: ruleRunDecider, name: ruleRunStream });
