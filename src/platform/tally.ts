/** Current amounts by key. A key without an amount takes no memory. */
export type Tally<Key> = {
  of(key: Key): number;
  /** Changes the amount of a key; negative amounts release. */
  add(key: Key, amount: number): void;
};

export function createTally<Key = string>(): Tally<Key> {
  const amounts = new Map<Key, number>();
  const of = (key: Key): number => amounts.get(key) ?? 0;
  return {
    of,
    add(key, amount) {
      const now = of(key) + amount;
      if (now === 0) amounts.delete(key);
      else amounts.set(key, now);
    },
  };
}
