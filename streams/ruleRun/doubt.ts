import { isClaimed } from "../rule/content.ts";
import { type Facts, possibilities } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings } from "../rule/events.ts";

/** Whether a rule's turn comes, and it matches: whatever the sender is (`surely`), or at least if the sender is somebody else (`maybe`). */
type Turn = { surely: boolean; maybe: boolean };

/**
 * For each rule, whether letting a draft go without a person would hang on what a sender merely claims (decisions 8): not only by its own
 * conditions, but because a rule before it might have ended the walk or set the status it asks about, or one after it taken the grant back.
 */
export function hangsOnClaims(
  rules: readonly Pick<RuleSettings, "conditions" | "actions" | "stopAfterMatch">[],
  facts: Facts,
): boolean[] {
  const turns = turnsOf(rules, facts);
  const mayTakeBack = turns.map((turn, index) => isInDoubt(turn) && (rules[index]?.actions ?? []).some(wantsPerson));
  return turns.map((turn, index) => !turn.surely || mayTakeBack.slice(index + 1).includes(true));
}

function turnsOf(rules: Parameters<typeof hangsOnClaims>[0], facts: Facts): Turn[] {
  let known = facts;
  let statusInDoubt = false;
  let reached: Turn = { surely: true, maybe: true };
  return rules.map(({ conditions, actions, stopAfterMatch }) => {
    const unsure = (field: string) => isClaimed(field) || (statusInDoubt && field === "thread.status");
    const matches = possibilities(conditions, known, unsure);
    const turn = { surely: reached.surely && matches.surely, maybe: reached.maybe && matches.maybe };
    const status = actions.findLast((action) => action.type === "set_thread_status")?.status;
    if (status !== undefined && turn.maybe) {
      statusInDoubt = !turn.surely;
      known = new Map(known).set("thread.status", [status]);
    }
    if (stopAfterMatch) reached = { surely: reached.surely && !turn.maybe, maybe: reached.maybe && !turn.surely };
    return turn;
  });
}

const isInDoubt = ({ surely, maybe }: Turn): boolean => maybe && !surely;

const wantsPerson = (action: RuleAction): boolean => action.type === "set_approval_mode" && action.mode === "manual";
