/** Seconds before each further try to reach a person; then it is given up: the API and the history have the same news. */
const retrySeconds = [5, 30, 120, 600];

/** How long to wait, in milliseconds, after so many tries before the last one; undefined if that was the last. */
export function reachAgainAfter(triesBefore: number): number | undefined {
  const seconds = retrySeconds[triesBefore];
  return seconds === undefined ? undefined : seconds * 1000;
}
