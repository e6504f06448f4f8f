/**
 * An immutable map by id, whose changed copy shares nearly all of the old one: with ten thousand entries a change costs about as much as
 * with ten. It is plain JSON. A few entries are an object by id; more are distributed by the id's hash over an array of such maps.
 */
export type IdMap<Value> = Entries<Value> | Divided<Value>;

type Entries<Value> = Readonly<Record<string, Value>>;
type Divided<Value> = readonly IdMap<Value>[];
type EntryAddress = { id: string; hash: number };

const bitsPerLevel = 4;
const width = 2 ** bitsPerLevel;
/** Entries of an object, at most; larger ones are divided. */
const mostEntries = 16;
/** Depth at which the bits of the hash are used up. */
const deepest = 32 / bitsPerLevel;

export function getEntry<Value>(map: IdMap<Value>, id: string): Value | undefined {
  let part = map;
  for (let hash = hashOf(id); isDivided(part); hash >>>= bitsPerLevel) part = part[hash % width] as IdMap<Value>;
  return Object.hasOwn(part, id) ? part[id] : undefined;
}

export const hasEntry = (map: IdMap<unknown>, id: string): boolean => getEntry(map, id) !== undefined;

export const isEmpty = (map: IdMap<unknown>): boolean => !isDivided(map) && Object.keys(map).length === 0;

/** Returns the map with this entry, replacing an earlier one of the same id. */
export const withEntry = <Value>(map: IdMap<Value>, id: string, value: Value): IdMap<Value> =>
  put(map, { id, hash: hashOf(id), value }, 0);

export const withoutEntry = <Value>(map: IdMap<Value>, id: string): IdMap<Value> =>
  remove(map, { id, hash: hashOf(id) });

/** Returns every id with its value, ordered by id, independent of the order of additions. */
export const entriesOf = <Value>(map: IdMap<Value>): [string, Value][] =>
  unordered(map).sort(([one], [other]) => (one < other ? -1 : 1));

function put<Value>(map: IdMap<Value>, entry: EntryAddress & { value: Value }, depth: number): IdMap<Value> {
  const { id, hash, value } = entry;
  if (isDivided(map)) {
    const at = hash % width;
    return map.with(at, put(map[at] as IdMap<Value>, { id, hash: hash >>> bitsPerLevel, value }, depth + 1));
  }
  const entries = { ...map, [id]: value };
  return Object.keys(entries).length <= mostEntries || depth === deepest ? entries : divided(entries, depth);
}

const divided = <Value>(entries: Entries<Value>, depth: number): IdMap<Value> =>
  Object.entries(entries).reduce<IdMap<Value>>(
    (map, [id, value]) => put(map, { id, hash: hashOf(id) >>> (depth * bitsPerLevel), value }, depth),
    Array.from({ length: width }, () => ({})),
  );

function remove<Value>(map: IdMap<Value>, { id, hash }: EntryAddress): IdMap<Value> {
  if (isDivided(map)) {
    const at = hash % width;
    const parts = map.with(at, remove(map[at] as IdMap<Value>, { id, hash: hash >>> bitsPerLevel }));
    return parts.every(isEmpty) ? {} : parts;
  }
  const { [id]: _, ...others } = map;
  return others;
}

const unordered = <Value>(map: IdMap<Value>): [string, Value][] =>
  isDivided(map) ? map.flatMap(unordered) : Object.entries(map);

const isDivided = <Value>(map: IdMap<Value>): map is Divided<Value> => Array.isArray(map);

/** Hashes with FNV-1a, 32 bits; used only for the layout of states. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
