import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";

let threads: ThreadPool | undefined;

/** Returns a pool of threads shared by all services of this process, because threads take a second to start. */
export const sharedThreads = (): ThreadPool => (threads ??= createThreadPool());

/** Returns the names of the works (works.ts) that these threads run during `happening`. */
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
