/**
 * Default retry schedule of webhook deliveries: seconds before each further attempt; after the last one the delivery has failed
 * permanently. Ten attempts over about three days. WEBHOOK_RETRY_SECONDS overrides it.
 */
export const usualRetrySeconds: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Random extra time, as a fraction, so that deliveries that failed together are not retried together. */
const maxSpread = 0.1;

/**
 * Milliseconds until the next attempt, after `tries` failed ones (from 1); null if no more follow. `spread`: a random number from 0 to 1.
 */
export function nextTryAfterMs(tries: number, retrySeconds: readonly number[], spread: number): number | null {
  const seconds = retrySeconds[tries - 1];
  return seconds === undefined ? null : seconds * 1000 * (1 + spread * maxSpread);
}
