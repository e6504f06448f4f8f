import { hashOf } from "./idMap.ts";

/**
 * A set of ids that takes little more room than their text: 37 bytes for a UUID. It only grows, and an addition makes a new set that shares
 * nearly all of the old one. It is plain JSON: ids between spaces; many are divided by their hash over an array of such sets.
 */
export type IdSet = string | readonly IdSet[];

const bitsPerLevel = 4;
const width = 2 ** bitsPerLevel;
/** A text of more characters is divided. */
const longest = 2_048;
/** Where the bits of the hash are used up. */
const deepest = 32 / bitsPerLevel;

export const noIds: IdSet = "";

export function includesId(set: IdSet, id: string): boolean {
  let part = set;
  for (let hash = hashOf(id); typeof part !== "string"; hash >>>= bitsPerLevel) part = part[hash % width] as IdSet;
  return part.includes(` ${id} `);
}

/** With this id, which was not in it. */
export const withId = (set: IdSet, id: string): IdSet => put(set, { id, hash: hashOf(id) }, 0);

function put(set: IdSet, { id, hash }: { id: string; hash: number }, depth: number): IdSet {
  if (typeof set !== "string") {
    const at = hash % width;
    return set.with(at, put(set[at] as IdSet, { id, hash: hash >>> bitsPerLevel }, depth + 1));
  }
  const text = set === "" ? ` ${id} ` : `${set}${id} `;
  return text.length <= longest || depth === deepest ? text : divided(text, depth);
}

const divided = (text: string, depth: number): IdSet =>
  text
    .trim()
    .split(" ")
    .reduce<IdSet>(
      (set, id) => put(set, { id, hash: hashOf(id) >>> (depth * bitsPerLevel) }, depth),
      Array.from({ length: width }, () => noIds),
    );
