/** Seconds before each further try to reach a person; then given up: the API and the history show the same. */
const retrySeconds = [5, 30, 120, 600];

/** Returns the milliseconds to wait after `triesBefore` tries before the last one; undefined if that was the last try. */
export function retryAfterMs(triesBefore: number): number | undefined {
  const seconds = retrySeconds[triesBefore];
  return seconds === undefined ? undefined : seconds * 1000;
}
