import { createThreadPool, type ThreadPool } from "#src/threadPool/threadPool.ts";

let threads: ThreadPool | undefined;

/** A pool of threads, which take a second to start: the same for all services of this process, as long as it lives. */
export const sharedThreads = (): ThreadPool => (threads ??= createThreadPool());
