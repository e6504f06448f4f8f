export type ContentPace = {
  /** Maximum time for the content of one mail, in milliseconds. */
  dataMs: number;
  /** Minimum average speed within each window, in bytes per second. */
  leastBytesPerSecond: number;
  windowMs: number;
};

/**
 * Calls `onTooSlow` once if the content of a mail takes too long in all, or arrives too slowly. Returns a function that stops watching.
 */
export function watchContentPace(
  stream: { readonly byteLength: number },
  { dataMs, leastBytesPerSecond, windowMs }: ContentPace,
  onTooSlow: () => void,
): () => void {
  let seen = 0;
  const stop = (): void => {
    clearTimeout(deadline);
    clearInterval(windows);
  };
  const giveUp = (): void => {
    stop();
    onTooSlow();
  };
  const deadline = setTimeout(giveUp, dataMs);
  const windows = setInterval(() => {
    const came = stream.byteLength - seen;
    seen = stream.byteLength;
    if (came * 1000 < leastBytesPerSecond * windowMs) giveUp();
  }, windowMs);
  return stop;
}
