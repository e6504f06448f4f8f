import { getHeapStatistics } from "node:v8";
import { register } from "tsx/esm/api";

register();
const { doTask: read } = await import("#src/platform/threadPool/thread.ts");

/** Reads mail that leaves much garbage, and returns the bytes of heap that the thread uses after its answer. */
export async function doTask(task) {
  // Loads the modules first, because V8 would collect garbage while it loads them.
  await read(task);
  await new Promise((resolve) => setTimeout(resolve, 10));
  leaveMuch();
  await read(task);
  return { done: getHeapStatistics().total_heap_size };
}

const leaveMuch = () => Array.from({ length: 2_000_000 }, (_, at) => ({ at, more: [at] })).length;
