/** A handler has not ended in the time it has. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/** What `work` comes to, or TookTooLong after so many milliseconds. */
export const within = <T>(milliseconds: number, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    // Made only when it comes to that: an error takes down where it was made, which costs.
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
