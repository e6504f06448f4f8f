/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Choices that are the same for the same seed. */
export type Random = {
  /** From 0 to below n. */
  below(n: number): number;
  chance(p: number): boolean;
  pick<T>(from: readonly T[]): T;
  word(): string;
};

export function createRandom(seed: number): Random {
  const next = seeded(seed);
  const below = (n: number): number => Math.floor(next() * n);
  return {
    below,
    chance: (p) => next() < p,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    word: () => `w${below(2 ** 30).toString(36)}`,
  };
}
