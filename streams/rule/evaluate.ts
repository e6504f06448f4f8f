import { contains } from "./contains.ts";
import { type Field, isField, kindOf } from "./content.ts";
import type { Group, Leaf, Operator } from "./events.ts";

/**
 * Known values by field. A field may have several values (tags, recipients); a missing one has none. A long text is replaced by the results
 * of searches in it.
 */
export type Facts = ReadonlyMap<Field, readonly string[] | SearchResults>;

/** Results of searches in a text, by their keys. A missing one ran out of time. */
export type SearchResults = ReadonlyMap<string, boolean>;

/** A condition on a text, without its field and negation. */
export type TextSearch = { op: Positive; value: Leaf["value"] };

type Positive = Exclude<Operator, "not_equals" | "not_contains" | "not_in">;

const oppositeOf: Partial<Record<Operator, Positive>> = {
  not_equals: "equals",
  not_contains: "contains",
  not_in: "in",
};

/**
 * Evaluates a tree of conditions. An empty group passes; a negative operator is true wherever its positive one is not. Undefined if the
 * result depends on a search without a result.
 */
export function evaluateConditions(item: Group | Leaf, facts: Facts): boolean | undefined {
  const { surely, maybe } = possibilities(item, facts, () => false);
  return surely || (maybe ? undefined : false);
}

/** Like `passes`, if some fields may have any value: whether the tree passes for all values, and whether it passes for some. */
export function possibilities(
  item: Group | Leaf,
  facts: Facts,
  isUnsure: (field: string) => boolean,
): { surely: boolean; maybe: boolean } {
  if (isLeaf(item)) {
    const known = isUnsure(item.field) ? undefined : leafPasses(item, facts);
    return known === undefined ? { surely: false, maybe: true } : { surely: known, maybe: known };
  }
  const all = itemsOf(item).map((inner) => possibilities(inner, facts, isUnsure));
  if (all.length === 0) return { surely: true, maybe: true };
  return item.operator === "OR"
    ? { surely: all.some(({ surely }) => surely), maybe: all.some(({ maybe }) => maybe) }
    : { surely: all.every(({ surely }) => surely), maybe: all.every(({ maybe }) => maybe) };
}

/** True if any condition in the tree, negated ones included, concerns a field for which `isMeant` returns true. */
export function concernsField(item: Group | Leaf, isMeant: (field: string) => boolean): boolean {
  return isLeaf(item) ? isMeant(item.field) : itemsOf(item).some((inner) => concernsField(inner, isMeant));
}

/** Collects the searches that these conditions need in a field, each once, by its key. */
export function collectSearches(field: Field, items: readonly (Group | Leaf)[]): Map<string, TextSearch> {
  const questions = new Map<string, TextSearch>();
  for (const item of items) {
    if (!isLeaf(item))
      for (const [key, question] of collectSearches(field, itemsOf(item))) questions.set(key, question);
    else if (item.field === field) questions.set(keyOf(questionOf(item)), questionOf(item));
  }
  return questions;
}

/** Searches a text. The same list of texts is folded once. */
export const runSearch = (field: Field, question: TextSearch, texts: readonly string[]): boolean =>
  holds({ field, ...question }, texts);

/** True if a condition needs a search without a result. */
export const hasUnansweredSearch = (item: Group | Leaf, facts: Facts): boolean =>
  isLeaf(item)
    ? leafPasses(item, facts) === undefined
    : itemsOf(item).some((inner) => hasUnansweredSearch(inner, facts));

export const isLeaf = (item: Group | Leaf): item is Leaf => Object.hasOwn(item, "field");
const itemsOf = (group: Group): readonly (Group | Leaf)[] =>
  Object.hasOwn(group, "conditions") ? (group.conditions ?? []) : [];

/** True if a condition holds; undefined if its search has no result. */
function leafPasses(leaf: Leaf, facts: Facts): boolean | undefined {
  const { field, op } = leaf;
  if (!isField(field)) return false;
  const question = questionOf(leaf);
  const known = facts.get(field) ?? none;
  const answer = isAnswers(known) ? known.get(keyOf(question)) : runSearch(field, question, known);
  return answer === undefined || oppositeOf[op] === undefined ? answer : !answer;
}

const none: readonly string[] = [];

const questionOf = ({ op, value }: Leaf): TextSearch => ({ op: oppositeOf[op] ?? (op as Positive), value });
const keyOf = ({ op, value }: TextSearch): string => JSON.stringify([op, value]);
const isAnswers = (known: readonly string[] | SearchResults): known is SearchResults => !Array.isArray(known);

type Test = { field: Field; op: Positive; value: Leaf["value"] };

/** True if one of the facts matches one of the values. */
function holds({ field, op, value }: Test, facts: readonly string[]): boolean {
  const values = typeof value === "string" ? [value] : value;
  if (op === "equals" || op === "in") {
    return facts.some((fact) => values.some((one) => comparable(field, one) === comparable(field, fact)));
  }
  const wanted = values.map(folded);
  return allFolded(facts).some((fact) => wanted.some((one) => tests[op](fact, one)));
}

const tests: Record<Exclude<Positive, "equals" | "in">, (fact: string, one: string) => boolean> = {
  contains,
  starts_with: (fact, one) => fact.startsWith(one),
  ends_with: (fact, one) => fact.endsWith(one),
};

/** Normalises for comparison: addresses, domains and ids ignore case, everything else is exact; parts of a text always ignore case. */
const comparable = (field: Field, text: string): string => (kindOf(field) === "caseless" ? folded(text) : text);
const folded = (text: string): string => text.toLowerCase();

/** Folds texts, once per list, however many conditions use it. */
function allFolded(facts: readonly string[]): readonly string[] {
  const known = foldedLists.get(facts) ?? facts.map(folded);
  foldedLists.set(facts, known);
  return known;
}

const foldedLists = new WeakMap<readonly string[], readonly string[]>();
