import { hashOf } from "./idMap.ts";

/**
 * An immutable, compact set of ids: 23 bytes for a UUID. It only grows, and a copy with an addition shares nearly all of the old one. It is
 * plain JSON: ids between spaces, UUIDs in a shorter form; many are distributed by their hash over an array of such sets.
 */
export type IdSet = string | readonly IdSet[];

const bitsPerLevel = 4;
const width = 2 ** bitsPerLevel;
/** Characters of a text, at most; longer ones are divided. */
const longest = 2_048;
/** Depth at which the bits of the hash are used up. */
const deepest = 32 / bitsPerLevel;

export const noIds: IdSet = "";

export function includesId(set: IdSet, id: string): boolean {
  const short = shortened(id);
  let part = set;
  for (let hash = hashOf(short); typeof part !== "string"; hash >>>= bitsPerLevel) part = part[hash % width] as IdSet;
  return part.includes(` ${short} `);
}

/** Returns the set with this id, which must not be in it. */
export function withId(set: IdSet, id: string): IdSet {
  const short = shortened(id);
  return put(set, { id: short, hash: hashOf(short) }, 0);
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Shortens an id without collisions: an id that is no UUID begins with a character that base64url does not have. */
const shortened = (id: string): string =>
  uuid.test(id) ? Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url") : `=${id}`;

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
