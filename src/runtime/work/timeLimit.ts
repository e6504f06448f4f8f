/** A handler exceeded its time. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/** Resolves or rejects like `work`, or rejects with TookTooLong after so many milliseconds. */
export const withTimeLimit = <T>(milliseconds: number, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    // The error is created only when needed: capturing its stack is expensive.
    const late = (): void => reject(new TookTooLong(`it did not end within ${milliseconds / 1000} s`));
    const timer = setTimeout(late, milliseconds);
    const ended =
      <A>(settle: (answer: A) => void) =>
      (answer: A): void => {
        clearTimeout(timer);
        settle(answer);
      };
    work.then(ended(resolve), ended(reject));
  });
