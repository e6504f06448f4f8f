/** Of what comes at the same moment, how much is done in one turn of the event loop. */
const usually = 6;

/**
 * Does work at once while little of it comes. What comes beyond `atOnce` in one turn of the event loop is done in the next ones, in order: a thousand
 * requests that begin or end at the same moment, each small, do not hold up everything else until the last of them.
 */
export function createTurns(atOnce = usually): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  let done = 0;

  function next(): void {
    done = Math.min(atOnce, waiting.length);
    if (done > 0) setImmediate(next);
    // One by one: if one throws, those behind it come in the next turn.
    for (let left = done; left > 0; left--) waiting.shift()!();
  }

  return (work) => {
    if (done === atOnce || waiting.length > 0) return void waiting.push(work);
    if (done === 0) setImmediate(next);
    done += 1;
    work();
  };
}
