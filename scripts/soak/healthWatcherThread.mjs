// @ts-check
import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/**
 * Asks for /healthz again and again in a thread of its own, where nothing of what the proof does itself counts as the service's time. Plain
 * JavaScript: to read TypeScript a thread has to load tsx first, which takes half a second of CPU each time.
 */
/** @type {{ url: string, everyMs: number }} */
const { url, everyMs } = workerData;
const agent = new Agent({ keepAlive: true });
/** @type {number[]} */
const ms = [];
let bad = 0;
let over = false;
parentPort?.once("message", () => {
  over = true;
});

do {
  const began = performance.now();
  const status = await new Promise((resolve) => {
    get(`${url}/healthz`, { agent }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    }).on("error", () => resolve(0));
  });
  ms.push(performance.now() - began);
  if (status !== 200) bad += 1;
  await sleep(everyMs);
} while (!over);

agent.destroy();
parentPort?.postMessage({ ms, bad });
