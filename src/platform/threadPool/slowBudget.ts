import { LRUCache } from "lru-cache";

/** Recent time spent on slow jobs, by key. */
export type SlowBudget = {
  charge(key: string, ms: number): void;
  /** True if the key has used up its time of this minute: its slow jobs are refused. */
  isSpent(key: string): boolean;
};

/** Milliseconds charged to a key, and since when. */
type SpentTime = { ms: number; since: number };

const minuteMs = 60_000;
/** More keys than can have slow jobs in one minute. */
const maxKeys = 1_000;

/**
 * Creates the account. `perMinuteMs`: milliseconds a key may use in a minute that begins with its first slow job. `now`: a monotonic clock.
 */
export function createSlowBudget(perMinuteMs: number, now: () => number = () => performance.now()): SlowBudget {
  const spent = new LRUCache<string, SpentTime>({ max: maxKeys });
  const isOver = ({ since }: SpentTime): boolean => now() - since >= minuteMs;

  return {
    charge(key, ms) {
      if (ms <= 0) return;
      const known = spent.get(key);
      if (known && !isOver(known)) known.ms += ms;
      else spent.set(key, { ms, since: now() });
    },
    isSpent(key) {
      const known = spent.get(key);
      return known !== undefined && !isOver(known) && known.ms >= perMinuteMs;
    },
  };
}
