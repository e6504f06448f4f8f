import { parentPort } from "node:worker_threads";

/** Stands in for the thread that reads mail: the bytes are JSON that says what to do. */
export async function readInThread({ job, bytes }) {
  parentPort.postMessage(job);
  const { spinMs = 0, allocate = false, answer } = JSON.parse(Buffer.from(bytes).toString().trimEnd());
  const end = performance.now() + spinMs;
  while (performance.now() < end);
  const held = [];
  while (allocate) held.push({ at: held.length });
  return (
    answer ?? { bodyText: "done", bodyHtml: null, extractedText: "", attachments: [], unreadable: null, cut: null }
  );
}
