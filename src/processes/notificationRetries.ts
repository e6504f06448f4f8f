/** Seconds before each further try to reach a person. After the last one the service gives up, which API and history show. */
const retrySeconds = [5, 30, 120, 600];

/**
 * Returns the milliseconds to wait after a failed try; undefined if it was the last. `triesBefore`: number of tries before the failed one.
 */
export function retryAfterMs(triesBefore: number): number | undefined {
  const seconds = retrySeconds[triesBefore];
  return seconds === undefined ? undefined : seconds * 1000;
}
