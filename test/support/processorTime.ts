/** Returns the milliseconds of CPU that `run` took: other processes may be busy on the machine. */
export function processorMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  return millisecondsSince(before);
}

/**
 * Returns the longest time that this process's event loop was blocked during `work`, in milliseconds. Counts only CPU time of this
 * process, its threads included, not time when other processes had the CPU.
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
