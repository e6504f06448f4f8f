/** Default number of pieces of work per turn of the event loop. */
const usually = 6;

/**
 * Runs up to `atOnce` pieces of work per turn of the event loop: the first ones immediately, the rest in later turns, in order. So a
 * thousand small requests that begin or end together do not block the event loop.
 */
export function createEventLoopTurns(atOnce = usually): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  let done = 0;

  function next(): void {
    done = Math.min(atOnce, waiting.length);
    if (done > 0) setImmediate(next);
    // Taken one by one: if one throws, the remaining ones run in the next turn.
    for (let left = done; left > 0; left--) waiting.shift()!();
  }

  return (work) => {
    if (done === atOnce || waiting.length > 0) return void waiting.push(work);
    if (done === 0) setImmediate(next);
    done += 1;
    work();
  };
}
