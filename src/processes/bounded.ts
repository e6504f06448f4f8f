/** What `work` comes to; undefined if it takes longer than so many milliseconds. */
export async function undefinedIfLate<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** What `work` comes to, or the signal's reason at once when that is aborted. The work itself may then go on for ever: nobody waits for it. */
export const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const told = (): void => reject(signal.reason);
    if (signal.aborted) told();
    else signal.addEventListener("abort", told, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", told));
  });
