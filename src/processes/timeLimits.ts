/** Returns the result of `work`, or undefined if it takes longer than `milliseconds`. */
export async function undefinedIfLate<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/**
 * Returns the result of `work`. If the signal is aborted first, throws its reason at once; the work may continue, and its result is
 * ignored.
 */
export const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const told = (): void => reject(signal.reason);
    if (signal.aborted) told();
    else signal.addEventListener("abort", told, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", told));
  });
