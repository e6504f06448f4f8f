import { pino } from "pino";
import { runUntilStopped } from "#src/start/lifecycle.ts";

/**
 * A process that only starts and ends, printing each step: `node --import tsx livingProcess.ts KIND`, where KIND is "ready" (drains when
 * asked), "stuck" (never drains), "failing" (cannot drain), "unable" (cannot start) or "starting" (never starts, and never drains).
 */
const kind = process.argv[2];
const say = (word: string): void => {
  process.stdout.write(`${word}\n`);
};
const alive = setInterval(() => {}, 1_000);

await runUntilStopped({
  logger: pino({ level: "silent" }),
  endWithParent: process.argv[3] === "withParent",
  async start() {
    if (kind === "unable") throw new Error("cannot start");
    if (kind === "starting") {
      say("starting");
      await new Promise(() => {});
    }
    say(`started ${process.pid}`);
  },
  async drain() {
    say("draining");
    if (kind === "stuck" || kind === "starting") await new Promise(() => {});
    if (kind === "failing") throw new Error("cannot drain");
    say("drained");
  },
  async lastly() {
    say("lastly");
  },
}).catch(() => {
  clearInterval(alive);
  process.exitCode = 3;
});
