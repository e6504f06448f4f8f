import { contains } from "./contains.ts";
import { type Field, isField, kindOf } from "./content.ts";
import type { Group, Leaf, Operator } from "./events.ts";

/** What is known, by field. A field may have several values (tags, recipients); one that is missing has none. */
export type Facts = ReadonlyMap<Field, readonly string[]>;

type Positive = Exclude<Operator, "not_equals" | "not_contains" | "not_in">;

const oppositeOf: Partial<Record<Operator, Positive>> = {
  not_equals: "equals",
  not_contains: "contains",
  not_in: "in",
};

/** Walks a tree of conditions. An empty group passes; the negative operators are true wherever their positive is not. */
export function passes(item: Group | Leaf, facts: Facts): boolean {
  if (isLeaf(item)) return leafPasses(item, facts);
  const items = itemsOf(item);
  if (items.length === 0) return true;
  return item.operator === "OR"
    ? items.some((inner) => passes(inner, facts))
    : items.every((inner) => passes(inner, facts));
}

/** The same if some fields may have any value: whether it passes whatever they are, and whether it passes for some. */
export function possibilities(
  item: Group | Leaf,
  facts: Facts,
  isUnsure: (field: string) => boolean,
): { surely: boolean; maybe: boolean } {
  if (isLeaf(item)) {
    const known = leafPasses(item, facts);
    return isUnsure(item.field) ? { surely: false, maybe: true } : { surely: known, maybe: known };
  }
  const all = itemsOf(item).map((inner) => possibilities(inner, facts, isUnsure));
  if (all.length === 0) return { surely: true, maybe: true };
  return item.operator === "OR"
    ? { surely: all.some(({ surely }) => surely), maybe: all.some(({ maybe }) => maybe) }
    : { surely: all.every(({ surely }) => surely), maybe: all.every(({ maybe }) => maybe) };
}

/** Whether some condition, wherever it is in the tree and negated too, asks about such a field. */
export function asksAbout(item: Group | Leaf, isMeant: (field: string) => boolean): boolean {
  return isLeaf(item) ? isMeant(item.field) : itemsOf(item).some((inner) => asksAbout(inner, isMeant));
}

export const isLeaf = (item: Group | Leaf): item is Leaf => Object.hasOwn(item, "field");
const itemsOf = (group: Group): readonly (Group | Leaf)[] =>
  Object.hasOwn(group, "conditions") ? (group.conditions ?? []) : [];

function leafPasses({ field, op, value }: Leaf, facts: Facts): boolean {
  if (!isField(field)) return false;
  const opposite = oppositeOf[op];
  const known = facts.get(field) ?? none;
  if (opposite !== undefined) return !holds({ field, op: opposite, value }, known);
  return holds({ field, op: op as Positive, value }, known);
}

const none: readonly string[] = [];

type Test = { field: Field; op: Positive; value: Leaf["value"] };

/** Whether one of the facts is as one of the values says. */
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

/** Addresses, domains and ids compare without case, everything else exactly; parts of a text always without case. */
const comparable = (field: Field, text: string): string => (kindOf(field) === "caseless" ? folded(text) : text);
const folded = (text: string): string => text.toLowerCase();

/** A mail's text is folded once, however many conditions ask about it. */
function allFolded(facts: readonly string[]): readonly string[] {
  const known = foldedLists.get(facts) ?? facts.map(folded);
  foldedLists.set(facts, known);
  return known;
}

const foldedLists = new WeakMap<readonly string[], readonly string[]>();
