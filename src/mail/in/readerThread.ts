import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { Answers, Sender } from "./authentication/findings.ts";
import type { ParsedMail, ParseLimits } from "./parsedMail.ts";
import { PlainBlob } from "./plainBlob.ts";
import { storableLine } from "./storable.ts";

/** What a thread is asked for; `job` is its number in the pool. */
export type ReaderTask = { job: number; bytes: Uint8Array } & (
  | { name: "parse"; limits: ParseLimits }
  /** `isWhole`: of all of the mail, so that what is not signed need not be sent again. */
  | { name: "signers"; isWhole: boolean }
  | { name: "signatures"; answers: Answers }
  | { name: "sender"; sender: Sender; answers: Answers }
);

Object.assign(globalThis, { Blob: PlainBlob });
// A library prints what it meets in a mail.
console.log = () => {};

/** What it answers: what it was asked for, or what is wrong with the mail. */
export type ReaderOutcome = { done: unknown } | { fault: string };

/** Bytes of heap that usual mail leaves a thread with, at most: its programs take 30 MB, and V8 adds half of that and what is new. */
const usualHeapBytes = 64 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/**
 * What a mail left behind is given back before it is answered: V8 alone would keep it until the next mail needs as much, and until then the thread
 * sleeps, and does nothing by itself. So it takes the time of the mail that left it.
 */
function giveBack(): void {
  if (getHeapStatistics().total_heap_size > usualHeapBytes) collectGarbage();
}

/** Does one job at a time. Tells its number first, when it begins: the time to load what it needs is not the mail's. */
export async function readInThread(task: ReaderTask): Promise<unknown> {
  const work = await workOn(task);
  parentPort!.postMessage(task.job);
  try {
    const done = await work();
    return task.name === "parse" ? moved(done as ParsedMail) : { done };
  } catch (error) {
    return { fault: `reading it failed: ${storableLine(String((error as Error)?.message), 300)}` };
  } finally {
    giveBack();
  }
}

async function workOn(task: ReaderTask): Promise<() => unknown> {
  const { buffer, byteOffset, byteLength } = task.bytes;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  switch (task.name) {
    case "parse": {
      const { parseMail } = await import("./parseMail.ts");
      return () => parseMail(bytes, task.limits);
    }
    case "signers": {
      const { signersOf, signersOrFindings } = await import("./authentication/verifyMail.ts");
      return () => (task.isWhole ? signersOrFindings(bytes) : signersOf(bytes));
    }
    case "signatures": {
      const { verifySignatures } = await import("./authentication/verifyMail.ts");
      return () => verifySignatures(bytes, task.answers);
    }
    case "sender": {
      const { verifySender } = await import("./authentication/verifyMail.ts");
      return () => verifySender(task.sender, task.answers);
    }
  }
}

/** The attachments' bytes move to the caller. */
function moved(mail: ParsedMail): unknown {
  const buffers = mail.attachments.map((attachment) => attachment.bytes.buffer as ArrayBuffer);
  return move({ [transferableSymbol]: [...new Set(buffers)], [valueSymbol]: { done: mail } } as never);
}
