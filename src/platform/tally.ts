/** Amounts by key, of what is held at one moment. A key that holds nothing takes no memory. */
export type Tally<Key> = {
  of(key: Key): number;
  /** `amount`: negative for what is given back. */
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
