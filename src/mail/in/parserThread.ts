import { parentPort, workerData } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { ParseLimits } from "./parsedMail.ts";
import { parseMail } from "./parseMail.ts";

/** Parses one mail at a time. Tells its number first, when it begins; the attachments' bytes move to the caller. */
export async function parseInThread({ bytes, job }: { bytes: Uint8Array; job: number }) {
  parentPort!.postMessage(job);
  const mail = await parseMail(bytes, workerData as ParseLimits);
  const buffers = mail.attachments.map((attachment) => attachment.bytes.buffer as ArrayBuffer);
  return move({ [transferableSymbol]: [...new Set(buffers)], [valueSymbol]: mail } as never);
}
