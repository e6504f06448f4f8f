import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { TestCode } from "./support/testBundle.ts";
import type { TestFailure } from "./support/testFailure.ts";
import { type Asked, endOfFile, type Told } from "./support/testMessages.ts";

/** What came of one file. */
export type FileResult = { file: string; passed: number; failures: TestFailure[]; ms: number; output: string };

export type LaneOptions = {
  /** The next file to run; undefined when all are taken. */
  next: () => string | undefined;
  onResult: (result: FileResult) => void;
  code: TestCode;
  /** Arguments of testRun.ts. */
  args: readonly string[];
  env: NodeJS.ProcessEnv;
};

const outputShown = 4_000;

/** Runs files of tests one after the other in a process of their own, and in a new one where a file takes that along. */
export function openLane({ next, onResult, code, args, env }: LaneOptions) {
  let child: ChildProcess | undefined;
  let stopped = false;

  const start = (): ChildProcess =>
    fork(code.script, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"], execArgv: code.execArgv });

  async function runAll(): Promise<void> {
    for (let file = next(); file !== undefined && !stopped; file = next()) {
      child ??= start();
      const result = await run(child, { file, from: code.of(file) });
      if (!stopped) onResult(result);
      if (child.exitCode !== null || child.signalCode !== null) child = undefined;
    }
    if (!child || stopped) return;
    const ended = once(child, "exit");
    child.send({ end: true } satisfies Asked);
    await ended;
  }

  return {
    /** Resolves when there is no more file, and the process has ended. */
    runAll,
    stop(): void {
      stopped = true;
      child?.kill("SIGKILL");
    },
  };
}

async function run(child: ChildProcess, asked: { file: string; from: string }): Promise<FileResult> {
  const { file } = asked;
  const result: FileResult = { file, passed: 0, failures: [], ms: 0, output: "" };
  const began = performance.now();
  await new Promise<void>((resolve) => {
    let told = false;
    const settle = (): void => {
      child.stdout!.off("data", onOutput);
      child.stderr!.off("data", onOutput);
      child.off("message", onTold).off("close", onClose);
      resolve();
    };
    const onOutput = (data: Buffer): void => {
      result.output += data;
      if (told && result.output.includes(endOfFile)) settle();
    };
    const onTold = (message: Told): void => {
      if ("ended" in message) told = true;
      else if (message.outcome === "passed") result.passed += 1;
      else result.failures.push(message.failure);
      if (told && result.output.includes(endOfFile)) settle();
    };
    const onClose = (code: number | null, signal: string | null): void => {
      const error = `its process ended (${code ?? signal}) before it had; it wrote last:\n${result.output.slice(-outputShown)}`;
      result.failures.push({ title: "the file broke off", file, error });
      settle();
    };
    child.stdout!.on("data", onOutput);
    child.stderr!.on("data", onOutput);
    child.on("message", onTold).once("close", onClose);
    child.send(asked satisfies Asked);
  });
  result.ms = Math.round(performance.now() - began);
  result.output = result.output.replace(endOfFile, "");
  return result;
}
