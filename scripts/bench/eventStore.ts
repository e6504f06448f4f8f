import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** Where the service under measurement has its log, if not in PostgreSQL. */
export type BenchEventStore = {
  url: string;
  /** Of the stand-in; a real server's process is not ours to look at. */
  pid?: number;
  stop(): Promise<void>;
};

/** `stand-in` starts one as a process of its own; anything else is the URL of a real server. */
export async function openEventStore(where: string): Promise<BenchEventStore> {
  if (where !== "stand-in") return { url: where, async stop() {} };
  const file = fileURLToPath(new URL("standIn.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    void ended.then(() => reject(new Error("the stand-in ended before it was ready")));
  });
  return {
    url,
    pid: child.pid!,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
