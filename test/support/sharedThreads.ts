import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";

let threads: ThreadPool | undefined;

/** A pool of threads, which take a second to start: the same for all services of this process, as long as it lives. */
export const sharedThreads = (): ThreadPool => (threads ??= createThreadPool());

/** The works (works.ts) that these threads do while something happens. */
export async function worksInThreads(happening: () => Promise<unknown>): Promise<string[]> {
  const pool = sharedThreads();
  const { run } = pool;
  const works: string[] = [];
  pool.run = (job, options) => {
    if (job.name === "work") works.push(job.work);
    return run(job, options);
  };
  try {
    await happening();
    return works;
  } finally {
    pool.run = run;
  }
}
