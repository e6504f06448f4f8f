import { type Field, fieldsOf, kindOf } from "./content.ts";
import { type Group, type Leaf, type Operator, operators, type TriggerEvent } from "./events.ts";
import { invalidRule, requireList, requireObject, requireOneOf, requireText } from "./validation.ts";

/** Bounds of a tree of conditions. */
const maxLeaves = 100;
const maxNestedGroups = 8;

const forWords: readonly Operator[] = ["equals", "not_equals", "in", "not_in"];

/** Reads a rule's conditions and checks them against its trigger. Throws Rejected invalid_request naming the path of the fault. */
export function readConditions(trigger: TriggerEvent, value: unknown, path: string): Group {
  return readGroup(value, { path, depth: 1 }, { trigger, leaves: 0 });
}

/** Location of a value in the tree. */
type TreeLocation = { path: string; depth: number };
/** State of reading a tree: its trigger, and the number of conditions so far. */
type Tree = { trigger: TriggerEvent; leaves: number };

function readGroup(value: unknown, { path, depth }: TreeLocation, tree: Tree): Group {
  const given = requireObject(value, path, ["operator", "conditions"]);
  if (depth > maxNestedGroups) throw invalidRule(path, `expected groups nested at most ${maxNestedGroups} levels deep`);
  if (Object.keys(given).length === 0) return {};
  const operator = requireOneOf(given.operator, `${path}.operator`, ["AND", "OR"]);
  const items = requireList(given.conditions, `${path}.conditions`);
  const conditions = items.map((item, index) =>
    readItem(item, { path: `${path}.conditions[${index}]`, depth: depth + 1 }, tree),
  );
  return { operator, conditions };
}

function readItem(value: unknown, place: TreeLocation, tree: Tree): Group | Leaf {
  const { path } = place;
  const isLeaf = typeof value === "object" && value !== null && ["field", "op", "value"].some((name) => name in value);
  if (!isLeaf) return readGroup(value, place, tree);
  tree.leaves += 1;
  if (tree.leaves > maxLeaves) throw invalidRule(path, `expected at most ${maxLeaves} conditions in total`);
  const given = requireObject(value, path, ["field", "op", "value"]);
  const field = requireOneOf(given.field, `${path}.field`, fieldsOf[tree.trigger]);
  const op = requireOneOf(given.op, `${path}.op`, operatorsOf(field));
  return { field, op, value: readValue({ field, op }, given.value, `${path}.value`) };
}

const operatorsOf = (field: Field): readonly Operator[] => (Array.isArray(kindOf(field)) ? forWords : operators);

function readValue({ field, op }: { field: Field; op: Operator }, value: unknown, path: string): string | string[] {
  const kind = kindOf(field);
  const one = (given: unknown, at: string): string =>
    typeof kind === "string" ? requireText(given, at) : requireOneOf(given, at, kind);
  if (op !== "in" && op !== "not_in") return one(value, path);
  if (!Array.isArray(value))
    throw invalidRule(path, `expected a list of strings, because ${op} compares with several values`);
  return value.map((item, index) => one(item, `${path}[${index}]`));
}
