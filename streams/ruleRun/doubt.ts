import { type Facts, possibilities } from "../rule/evaluate.ts";
import type { RuleAction, RuleSettings } from "../rule/events.ts";

/** Whether a rule's turn comes and it matches: whatever the unsure conditions are (`surely`), or at least for some of them (`maybe`). */
export type Turn = { surely: boolean; maybe: boolean };

type Walked = Pick<RuleSettings, "conditions" | "actions" | "stopAfterMatch">;

/** A possible state of a walk before a rule: what is known then, and whether an earlier rule has ended it. */
type State = { facts: Facts; ended: boolean };

/** Above this many possible states of a walk, nothing counts as certain. */
const maxStates = 64;

/**
 * For each rule of a walk, its turn where conditions on some fields may come out either way, each on its own. Every way the walk can go is
 * followed: a rule that may match may end the walk, and change the thread's status or the contact's tags for those after it.
 */
export function turnsOf(rules: readonly Walked[], facts: Facts, isUnsure: (field: string) => boolean): Turn[] {
  return follow(rules, facts, isUnsure).turns;
}

/** Whether such a walk may leave the thread with one status or another. */
export function maySetStatus(rules: readonly Walked[], facts: Facts, isUnsure: (field: string) => boolean): boolean {
  const { states } = follow(rules, facts, isUnsure);
  return states.length > maxStates || new Set(states.map((state) => String(state.facts.get("thread.status")))).size > 1;
}

function follow(
  rules: readonly Walked[],
  facts: Facts,
  isUnsure: (field: string) => boolean,
): { turns: Turn[]; states: readonly State[] } {
  let states: readonly State[] = [{ facts, ended: false }];
  const turns = rules.map((rule) => {
    if (states.length > maxStates) return { surely: false, maybe: true };
    const matches = states.map(({ facts: known, ended }) =>
      ended ? never : possibilities(rule.conditions, known, isUnsure),
    );
    states = distinct(
      states.flatMap((state, index) => {
        const { surely, maybe } = matches[index] as Turn;
        return [...(surely ? [] : [state]), ...(maybe ? [afterMatch(rule, state, isUnsure)] : [])];
      }),
    );
    return { surely: matches.every(({ surely }) => surely), maybe: matches.some(({ maybe }) => maybe) };
  });
  return { turns, states };
}

/**
 * What a walk leaves in doubt for a later one: whether a rule that may match or not sets the thread's status, or tags the contact. What the
 * facts hold already does not count: the contact's are those of now, with the tags that this very walk added.
 */
export function movedInDoubt(rules: readonly Walked[], turns: readonly Turn[]): (field: string) => boolean {
  const moves = (type: RuleAction["type"]) =>
    rules.some(({ actions }, index) => isInDoubt(turns[index] as Turn) && actions.some((each) => each.type === type));
  const status = moves("set_thread_status");
  const tags = moves("add_tag");
  return (field) => (status && field === "thread.status") || (tags && field === "contact.tag");
}

export const isInDoubt = ({ surely, maybe }: Turn): boolean => maybe && !surely;

const never: Turn = { surely: false, maybe: false };

function afterMatch(rule: Walked, { facts }: State, isUnsure: (field: string) => boolean): State {
  let known = facts;
  for (const action of rule.actions) {
    // What is unsure anyway need not be followed.
    if (action.type === "set_thread_status" && !isUnsure("thread.status")) {
      known = new Map(known).set("thread.status", [action.status]);
    }
    if (action.type === "add_tag" && !isUnsure("contact.tag")) known = withTag(known, action.tag);
  }
  return { facts: known, ended: rule.stopAfterMatch };
}

/** What rules see of a tag that one before them added. Nobody is tagged if there is no contact. */
export function withTag(facts: Facts, tag: string): Facts {
  const tags = tagsIn(facts);
  if (!facts.has("contact.domain") || tags.includes(tag)) return facts;
  return new Map(facts).set("contact.tag", [...tags, tag]);
}

function distinct(states: readonly State[]): State[] {
  const byKey = new Map<string, State>();
  for (const state of states) byKey.set(keyOf(state), state);
  return [...byKey.values()];
}

const keyOf = ({ facts, ended }: State): string =>
  JSON.stringify([ended, facts.get("thread.status"), [...tagsIn(facts)].sort()]);

/** A contact's tags are words, never searched as a text is. */
const tagsIn = (facts: Facts): readonly string[] => (facts.get("contact.tag") ?? []) as readonly string[];
