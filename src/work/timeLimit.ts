/** A handler has not ended in the time it has. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";
}

/** What `work` comes to, or TookTooLong after so many milliseconds. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new TookTooLong(`it did not end within ${milliseconds / 1000} s`);
    timer = setTimeout(() => reject(error), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
