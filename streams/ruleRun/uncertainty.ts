import { type Facts, possibilities } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings } from "../rule/events.ts";

/** Certainty that a rule is reached and matches: for all outcomes of the unsure conditions (`surely`), or for some (`maybe`). */
export type RuleTurn = { surely: boolean; maybe: boolean };

type RuleInWalk = Pick<RuleSettings, "conditions" | "actions" | "stopAfterMatch">;

/** A possible state of a walk before a rule: the known facts, and whether an earlier rule has ended it. */
type WalkState = { facts: Facts; ended: boolean };

/** Possible states of a walk above which nothing counts as certain. */
const maxStates = 64;

/**
 * Returns the turn of each rule of a walk in which conditions on some fields may have either outcome, each independently. Follows every
 * possible course: a rule that may match may end the walk, and change the thread's status or the contact's tags for later rules.
 */
export function possibleTurns(
  rules: readonly RuleInWalk[],
  facts: Facts,
  isUnsure: (field: string) => boolean,
): RuleTurn[] {
  return follow(rules, facts, isUnsure).turns;
}

/** True if such a walk may end with different statuses of the thread. */
export function maySetStatus(
  rules: readonly RuleInWalk[],
  facts: Facts,
  isUnsure: (field: string) => boolean,
): boolean {
  const { states } = follow(rules, facts, isUnsure);
  return states.length > maxStates || new Set(states.map((state) => String(state.facts.get("thread.status")))).size > 1;
}

function follow(
  rules: readonly RuleInWalk[],
  facts: Facts,
  isUnsure: (field: string) => boolean,
): { turns: RuleTurn[]; states: readonly WalkState[] } {
  let states: readonly WalkState[] = [{ facts, ended: false }];
  const turns = rules.map((rule) => {
    if (states.length > maxStates) return { surely: false, maybe: true };
    const matches = states.map(({ facts: known, ended }) =>
      ended ? never : possibilities(rule.conditions, known, isUnsure),
    );
    states = distinct(
      states.flatMap((state, index) => {
        const { surely, maybe } = matches[index] as RuleTurn;
        return [...(surely ? [] : [state]), ...(maybe ? [afterMatch(rule, state, isUnsure)] : [])];
      }),
    );
    return { surely: matches.every(({ surely }) => surely), maybe: matches.some(({ maybe }) => maybe) };
  });
  return { turns, states };
}

/**
 * Returns which fields a walk leaves in doubt for a later one: the thread's status or the contact's tags, if a rule that may or may not
 * match sets them. The stored facts do not count: the contact's are current, including tags that this walk added.
 */
export function uncertainFields(rules: readonly RuleInWalk[], turns: readonly RuleTurn[]): (field: string) => boolean {
  const moves = (type: RuleAction["type"]) =>
    rules.some(
      ({ actions }, index) => isUncertain(turns[index] as RuleTurn) && actions.some((each) => each.type === type),
    );
  const status = moves("set_thread_status");
  const tags = moves("add_tag");
  return (field) => (status && field === "thread.status") || (tags && field === "contact.tag");
}

export const isUncertain = ({ surely, maybe }: RuleTurn): boolean => maybe && !surely;

const never: RuleTurn = { surely: false, maybe: false };

function afterMatch(rule: RuleInWalk, { facts }: WalkState, isUnsure: (field: string) => boolean): WalkState {
  let known = facts;
  for (const action of rule.actions) {
    // An unsure field need not be followed.
    if (action.type === "set_thread_status" && !isUnsure("thread.status")) {
      known = new Map(known).set("thread.status", [action.status]);
    }
    if (action.type === "add_tag" && !isUnsure("contact.tag")) known = withTag(known, action.tag);
  }
  return { facts: known, ended: rule.stopAfterMatch };
}

/** Returns the facts after a rule added a tag. Without a contact no tag is added. */
export function withTag(facts: Facts, tag: string): Facts {
  const tags = tagsIn(facts);
  if (!facts.has("contact.domain") || tags.includes(tag)) return facts;
  return new Map(facts).set("contact.tag", [...tags, tag]);
}

function distinct(states: readonly WalkState[]): WalkState[] {
  const byKey = new Map<string, WalkState>();
  for (const state of states) byKey.set(keyOf(state), state);
  return [...byKey.values()];
}

const keyOf = ({ facts, ended }: WalkState): string =>
  JSON.stringify([ended, facts.get("thread.status"), [...tagsIn(facts)].sort()]);

/** Returns a contact's tags, which are never searched like a text. */
const tagsIn = (facts: Facts): readonly string[] => (facts.get("contact.tag") ?? []) as readonly string[];
