import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { createRequire } from "node:module";

type Pool = { exec(method: string): Promise<unknown>; stats(): { pendingTasks: number } };

/**
 * Lets a run continue if processes that run its files die. Mocha starts them by workerpool (10.0.3), which has two faults. It replaces a process that
 * died while it ran a file only when a file ends in another process, so that nothing continues if all have died: an additional task that does nothing
 * makes it start the next one. And when the run ends it waits forever for a process that died between files: it does not wait for one without `kill`.
 */
export function replaceDeadWorkers(): void {
  const ofMocha = createRequire(createRequire(import.meta.url).resolve("mocha"));
  const workerpool: { pool(script: string, options: object): Pool } = ofMocha("workerpool");
  const { pool } = workerpool;
  workerpool.pool = (script, options) => {
    const made = pool(script, options);
    subscribe("child_process", (message) => {
      const { process: child } = message as { process: ChildProcess };
      child.once("exit", () => {
        Object.assign(child, { kill: undefined, terminate() {} });
        setImmediate(() => {
          if (made.stats().pendingTasks > 0) made.exec("methods").catch(() => {});
        });
      });
    });
    return made;
  };
}
