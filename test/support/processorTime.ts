/** How many milliseconds of the processor `run` took: others may be at work on the machine. */
export function processorMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  return millisecondsSince(before);
}

/**
 * The longest that this process's event loop stood still while `work` ran, in milliseconds. Time in which others had the processor is left out:
 * a standstill counts by what this process used of it, its threads included.
 */
export async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let at = performance.now();
  let used = process.cpuUsage();
  const look = (): void => {
    longest = Math.max(longest, Math.min(performance.now() - at, millisecondsSince(used)));
    at = performance.now();
    used = process.cpuUsage();
  };
  const looking = setInterval(look, 5);
  try {
    await work();
  } finally {
    look();
    clearInterval(looking);
  }
  return longest;
}

function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
