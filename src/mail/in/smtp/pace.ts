export type Pace = {
  /** Milliseconds that the content of one mail may take. */
  dataMs: number;
  /** How many bytes have to come within each window, on average over it. */
  leastBytesPerSecond: number;
  windowMs: number;
};

/** Calls `onTooSlow` once if the content of a mail takes too long as a whole, or comes more slowly than it has to. Returns how to stop. */
export function watchPace(
  stream: { readonly byteLength: number },
  { dataMs, leastBytesPerSecond, windowMs }: Pace,
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
