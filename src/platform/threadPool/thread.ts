import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { DnsAnswers, SmtpSender } from "#src/mail/in/authentication/findings.ts";
import type { CopyBodies } from "#src/mail/in/copies.ts";
import type { ParsedMail, ParseLimits } from "#src/mail/in/parsedMail.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import type { ComposedBodies } from "#src/mail/out/bodies.ts";
import { type CostlyFunctionName, costlyFunctions } from "./costlyFunctions.ts";

/** Task of a thread; `job` is its number in the pool. */
export type ThreadTask = { job: number; bytes: Uint8Array } /** A work of works.ts. */ & (
  | { name: "work"; work: CostlyFunctionName; input: unknown }
  | { name: "parse"; limits: ParseLimits; writer?: string | undefined }
  /** Compares a mail of ours that came back with what was sent. No bytes. */
  | { name: "copy"; compared: { sent: ComposedBodies; came: CopyBodies } }
  /** `isWhole`: `bytes` are the whole mail, so that an unsigned one need not be sent again. */
  | { name: "signers"; isWhole: boolean }
  | { name: "signatures"; answers: DnsAnswers }
  | { name: "sender"; sender: SmtpSender; answers: DnsAnswers }
);

// A library logs parts of mail to the console.
console.log = () => {};

/** A thread's answer: the result, or how the work failed. */
export type TaskOutcome = { done: unknown } | { fault: string };

/** Heap in bytes after usual work, at most: the programs take 30 MB, and V8 adds half of that and new objects. */
const usualHeapBytes = 64 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/**
 * Releases the memory of a job before its answer: V8 would keep it until the next job needs as much, and an idle thread does not collect.
 * The job is charged for the time.
 */
function giveBack(): void {
  if (getHeapStatistics().total_heap_size > usualHeapBytes) collectGarbage();
}

/** Runs one job at a time. Posts its number when it begins: the time to load modules is not charged to the job. */
export async function doTask(task: ThreadTask): Promise<unknown> {
  const work = await workOn(task);
  parentPort!.postMessage(task.job);
  try {
    const done = await work();
    return task.name === "parse" ? moved(done as ParsedMail) : { done };
  } catch (error) {
    return { fault: `failed: ${storableLine(String((error as Error)?.message), 300)}` };
  } finally {
    giveBack();
  }
}

async function workOn(task: ThreadTask): Promise<() => unknown> {
  const { buffer, byteOffset, byteLength } = task.bytes;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  switch (task.name) {
    case "work": {
      const work = await costlyFunctions[task.work].load();
      return () => work(task.input as never);
    }
    case "parse": {
      const { parseMail } = await import("#src/mail/in/parseMail.ts");
      return () => parseMail(bytes, task.limits, task.writer);
    }
    case "copy": {
      const { linesBesideOurs } = await import("#src/mail/in/copies.ts");
      return () => linesBesideOurs(task.compared);
    }
    case "signers": {
      const { signersOf, signersOrFindings } = await import("#src/mail/in/authentication/verifyMail.ts");
      return () => (task.isWhole ? signersOrFindings(bytes) : signersOf(bytes));
    }
    case "signatures": {
      const { verifySignatures } = await import("#src/mail/in/authentication/verifyMail.ts");
      return () => verifySignatures(bytes, task.answers);
    }
    case "sender": {
      const { verifySender } = await import("#src/mail/in/authentication/verifySender.ts");
      return () => verifySender(task.sender, task.answers);
    }
  }
}

/** Transfers the attachments' bytes to the caller instead of copying them. */
function moved(mail: ParsedMail): unknown {
  const buffers = mail.attachments.map((attachment) => attachment.bytes.buffer as ArrayBuffer);
  return move({ [transferableSymbol]: [...new Set(buffers)], [valueSymbol]: { done: mail } } as never);
}
