import { LRUCache } from "lru-cache";

/** What slow mail of each key has taken lately. */
export type SlowTime = {
  charge(key: string, ms: number): void;
  /** Whether the key has had its time of this minute, so that no more of its mail is waited for. */
  isSpent(key: string): boolean;
};

/** Of a key: how much it has had since when, in milliseconds. */
type Spent = { ms: number; since: number };

const minuteMs = 60_000;
/** More than can have slow mail in one minute. */
const maxKeys = 1_000;

/** `perMinuteMs`: what a key may have in a minute that begins with its first slow mail. `now`: a monotonic clock. */
export function createSlowTime(perMinuteMs: number, now: () => number = () => performance.now()): SlowTime {
  const spent = new LRUCache<string, Spent>({ max: maxKeys });
  const isOver = ({ since }: Spent): boolean => now() - since >= minuteMs;

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
