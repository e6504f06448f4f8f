import { parentPort } from "node:worker_threads";

const read = {
  bodyText: "done",
  bodyHtml: null,
  extractedText: "",
  attachments: [],
  unreadable: null,
  cut: null,
  notes: [],
};

/** Stands in for the thread that reads mail: the bytes are JSON that says what to do. */
export async function doTask({ job, bytes }) {
  parentPort.postMessage(job);
  const { sleepMs = 0, allocate = false, answer = read } = JSON.parse(Buffer.from(bytes).toString().trimEnd());
  // Ignores messages like a thread that is busy with a mail, but uses no CPU.
  if (sleepMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
  const held = [];
  while (allocate) held.push({ at: held.length });
  return { done: answer };
}
