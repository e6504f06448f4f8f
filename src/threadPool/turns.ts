/** What waits, by key: whose turn it is goes by what each key has had. */
export type Turns<T> = {
  add(key: string, item: T): void;
  /** The longest waiting of the key that has had least; undefined if nothing waits. */
  next(): T | undefined;
  /** What the key's item has cost, in any unit that is the same for all. */
  charge(key: string, cost: number): void;
  waits(key: string): boolean;
  /** Takes out what waits no longer; nothing if it does not wait. */
  remove(key: string, item: T): void;
  /** Empties it. */
  takeAll(): T[];
};

/**
 * Fair queueing: who has had most goes last, however much of theirs waits. A key that comes back after a while starts with what the one
 * served last had had: nobody saves up turns, and nobody is held to account for ever.
 */
export function createTurns<T>(): Turns<T> {
  const waiting = new Map<string, T[]>();
  const had = new Map<string, number>();
  let level = 0;

  const costOf = (key: string): number => Math.max(had.get(key) ?? 0, level);

  function forgetThoseLevelled(): void {
    for (const [key, cost] of had) if (cost <= level && !waiting.has(key)) had.delete(key);
  }

  return {
    add(key, item) {
      const items = waiting.get(key);
      if (items) {
        items.push(item);
        return;
      }
      had.set(key, costOf(key));
      waiting.set(key, [item]);
    },
    next() {
      let least: string | undefined;
      for (const key of waiting.keys()) if (least === undefined || costOf(key) < costOf(least)) least = key;
      if (least === undefined) return undefined;
      const items = waiting.get(least)!;
      const item = items.shift();
      level = costOf(least);
      // To the end: among equals everybody has a turn before anybody has a second one.
      waiting.delete(least);
      if (items.length > 0) waiting.set(least, items);
      return item;
    },
    charge(key, cost) {
      had.set(key, costOf(key) + cost);
      forgetThoseLevelled();
    },
    waits: (key) => waiting.has(key),
    remove(key, item) {
      const left = waiting.get(key)?.filter((each) => each !== item) ?? [];
      if (left.length > 0) waiting.set(key, left);
      else waiting.delete(key);
    },
    takeAll() {
      const all = [...waiting.values()].flat();
      waiting.clear();
      return all;
    },
  };
}
