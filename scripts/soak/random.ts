/** Chance that comes out the same for the same seed. */
export type Random = {
  /** From 0 to below n. */
  below(n: number): number;
  chance(p: number): boolean;
  pick<T>(from: readonly T[]): T;
  word(): string;
};

/** mulberry32: 32 bits of state, good enough to choose by and fast. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return {
    below,
    chance: (p) => next() < p,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    word: () => `w${below(2 ** 30).toString(36)}`,
  };
}
