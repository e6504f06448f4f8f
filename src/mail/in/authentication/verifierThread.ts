import { parentPort } from "node:worker_threads";
import type { FromThread, ToThread } from "./messages.ts";
import { verifyMail } from "./verifyMail.ts";

const port = parentPort!;
const say = (message: FromThread) => port.postMessage(message);

/** Look-ups under way: the resolver is in the main thread. */
const asked = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
let lookUps = 0;

const lookUpFor = (job: number) => (name: string, type: string) =>
  new Promise((resolve, reject) => {
    const lookUp = ++lookUps;
    asked.set(lookUp, { resolve, reject });
    say({ kind: "look_up", job, lookUp, name, type });
  });

port.on("message", (message: ToThread) => {
  if (message.kind === "answer") {
    const waiting = asked.get(message.lookUp);
    asked.delete(message.lookUp);
    if (message.code === null) waiting?.resolve(message.answer);
    else waiting?.reject(Object.assign(new Error(message.code), { code: message.code }));
  } else if (message.kind === "ping") {
    say({ kind: "pong" });
  } else {
    const { job, mail } = message;
    verifyMail({ ...mail, raw: Buffer.from(mail.raw) }, lookUpFor(job)).then(
      (findings) => say({ kind: "findings", job, findings }),
      (error) => say({ kind: "failed", job, reason: String(error) }),
    );
  }
});
say({ kind: "pong" });
