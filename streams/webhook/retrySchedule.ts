/**
 * The retry schedule of webhook deliveries: seconds before each further try of one that failed; after the last one it has failed permanently.
 * Ten tries over about three days. WEBHOOK_RETRY_SECONDS sets another one.
 */
export const usualRetrySeconds: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Up to a tenth more, so that deliveries that failed together do not come back together. */
const maxSpread = 0.1;

/**
 * Milliseconds until the next try, after `tries` that failed (from 1); null: no further one. `spread`: a random number from 0 to 1.
 */
export function nextTryAfterMs(tries: number, retrySeconds: readonly number[], spread: number): number | null {
  const seconds = retrySeconds[tries - 1];
  return seconds === undefined ? null : seconds * 1000 * (1 + spread * maxSpread);
}
