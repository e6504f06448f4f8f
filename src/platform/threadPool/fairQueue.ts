/** Waiting items, by key. The next one is of the key that has been charged least. */
export type FairQueue<T> = {
  add(key: string, item: T): void;
  /** Takes the longest waiting item of the key that has been charged least; undefined if nothing waits. */
  next(): T | undefined;
  /** Charges a key for one of its items. `cost`: in any unit that is the same for all. */
  charge(key: string, cost: number): void;
  waits(key: string): boolean;
  /** Removes an item, if it is waiting. */
  remove(key: string, item: T): void;
  /** Removes and returns all items. */
  takeAll(): T[];
};

/**
 * Creates a fair queue: the key that has been charged most is last, however many of its items wait. A key that returns after a pause starts
 * at the charge of the key served last: no key saves up turns, and none is charged for ever.
 */
export function createFairQueue<T>(): FairQueue<T> {
  const waiting = new Map<string, T[]>();
  const charged = new Map<string, number>();
  let level = 0;

  const chargeOf = (key: string): number => Math.max(charged.get(key) ?? 0, level);

  function forgetThoseLevelled(): void {
    for (const [key, charge] of charged) if (charge <= level && !waiting.has(key)) charged.delete(key);
  }

  return {
    add(key, item) {
      const items = waiting.get(key);
      if (items) {
        items.push(item);
        return;
      }
      charged.set(key, chargeOf(key));
      waiting.set(key, [item]);
    },
    next() {
      let least: string | undefined;
      for (const key of waiting.keys()) if (least === undefined || chargeOf(key) < chargeOf(least)) least = key;
      if (least === undefined) return undefined;
      const items = waiting.get(least)!;
      const item = items.shift();
      level = chargeOf(least);
      // Moved to the end: among equal keys each has a turn before any has a second one.
      waiting.delete(least);
      if (items.length > 0) waiting.set(least, items);
      return item;
    },
    charge(key, cost) {
      charged.set(key, chargeOf(key) + cost);
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
