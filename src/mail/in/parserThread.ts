import { parentPort, workerData } from "node:worker_threads";
import type { ParseLimits } from "./parsedMail.ts";
import { parseMail } from "./parseMail.ts";

// One mail at a time: whoever posts the next one has the answer to the last.
parentPort!.on("message", async (raw: Uint8Array) => {
  const mail = await parseMail(raw, workerData as ParseLimits);
  const buffers = mail.attachments.map((attachment) => attachment.bytes.buffer as ArrayBuffer);
  parentPort!.postMessage(mail, [...new Set(buffers)]);
});
parentPort!.postMessage("ready");
