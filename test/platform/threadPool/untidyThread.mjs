import { getHeapStatistics } from "node:v8";
import { register } from "tsx/esm/api";

register();
const { doTask: read } = await import("#src/platform/threadPool/thread.ts");

/** Reads mail that leaves much behind, and answers how many bytes of heap the thread has when that is answered. */
export async function doTask(task) {
  // What it needs is loaded first: meanwhile V8 would tidy up by itself.
  await read(task);
  await new Promise((resolve) => setTimeout(resolve, 10));
  leaveMuch();
  await read(task);
  return { done: getHeapStatistics().total_heap_size };
}

const leaveMuch = () => Array.from({ length: 2_000_000 }, (_, at) => ({ at, more: [at] })).length;
