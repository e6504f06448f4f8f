import { Worker } from "node:worker_threads";
import type { Lookup, Resolver } from "#src/dns/resolver.ts";
import type { Findings, ReceivedMail } from "./findings.ts";
import type { FromThread, ToThread } from "./messages.ts";

export type MailVerifier = {
  /** Undefined if it could not be found out within the time, whatever the mail does to the verifier. Never rejects. */
  verify(mail: ReceivedMail, resolver: Resolver, timeMs: number): Promise<Findings | undefined>;
  close(): Promise<void>;
};

type Job = { resolver: Resolver; end(findings: Findings | undefined): void };
type Thread = { worker: Worker; jobs: Map<number, Job>; said: number };

const entry = new URL("./verifierWorker.mjs", import.meta.url);
/** A thread that says nothing for so long after it was asked is caught in a mail. */
const silenceMs = 2_000;
const maxHeapMb = 512;

/** Does the sums in a thread, many mails at once, and the look-ups here. A thread that is caught in a mail is replaced. */
export function createMailVerifier(): MailVerifier {
  let thread: Thread | undefined;
  let jobs = 0;
  let closed = false;

  function start(): Thread {
    const worker = new Worker(entry, {
      execArgv: [],
      // The library prints to it.
      stdout: true,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.stdout.resume();
    const started: Thread = { worker, jobs: new Map(), said: 0 };
    worker.on("message", (message: FromThread) => hear(started, message));
    worker.on("error", () => {});
    worker.once("exit", () => drop(started));
    return started;
  }

  function hear(from: Thread, message: FromThread): void {
    from.said += 1;
    if (message.kind === "pong") return;
    const job = from.jobs.get(message.job);
    if (!job) return;
    if (message.kind === "look_up") void answer(from, job.resolver, message);
    else end(from, message.job, message.kind === "findings" ? message.findings : undefined);
  }

  function end(of: Thread, id: number, findings: Findings | undefined): void {
    const job = of.jobs.get(id);
    of.jobs.delete(id);
    job?.end(findings);
  }

  function drop(dead: Thread): void {
    if (thread === dead) thread = undefined;
    for (const id of [...dead.jobs.keys()]) end(dead, id, undefined);
  }

  /** Ends a thread that does not answer any more; the other mails in it end unverified too. */
  function replaceIfCaught(suspect: Thread): void {
    const { said } = suspect;
    send(suspect, { kind: "ping" });
    setTimeout(() => {
      if (suspect.said !== said) return;
      drop(suspect);
      void suspect.worker.terminate();
    }, silenceMs).unref();
  }

  return {
    verify: ({ raw, ...mail }, resolver, timeMs) =>
      new Promise((resolve) => {
        if (closed) return resolve(undefined);
        thread ??= start();
        const used = thread;
        const id = ++jobs;
        const timer = setTimeout(() => {
          end(used, id, undefined);
          replaceIfCaught(used);
        }, timeMs);
        used.jobs.set(id, {
          resolver,
          end(findings) {
            clearTimeout(timer);
            resolve(findings);
          },
        });
        const copy = new Uint8Array(raw);
        used.worker.postMessage({ kind: "verify", job: id, mail: { ...mail, raw: copy } } satisfies ToThread, [
          copy.buffer,
        ]);
      }),
    async close() {
      closed = true;
      await thread?.worker.terminate();
    },
  };
}

const send = ({ worker }: Thread, message: ToThread): void => worker.postMessage(message);

type LookUpAsked = Extract<FromThread, { kind: "look_up" }>;

async function answer(to: Thread, resolver: Resolver, { lookUp, name, type }: LookUpAsked): Promise<void> {
  const found = await lookUpAs(resolver, name, type);
  const message = { kind: "answer", lookUp } as const;
  if (found.outcome === "found") send(to, { ...message, code: null, answer: found.records });
  else send(to, { ...message, code: found.outcome === "missing" ? "ENOTFOUND" : "ETIMEOUT", answer: null });
}

/** As node:dns resolve answers that type. */
async function lookUpAs(resolver: Resolver, name: string, type: string): Promise<Lookup<unknown>> {
  switch (type) {
    case "TXT": {
      const found = await resolver.txt(name);
      return found.outcome === "found" ? { ...found, records: found.records.map((text) => [text]) } : found;
    }
    case "A":
      return resolver.a(name);
    case "AAAA":
      return resolver.aaaa(name);
    case "MX":
      return resolver.mx(name);
    case "PTR":
      return resolver.ptr(name);
    default:
      return { outcome: "missing" };
  }
}
