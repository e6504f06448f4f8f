import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { format } from "node:util";

export type Outcome = { code: number; out: string; err: string };

/**
 * Runs a command of `scripts/` in this process, as often as a test likes: it is typed, told and heard as in one of its own, which costs a
 * second of the processor to start. One at a time, because arguments, environment and console are the process's. That the command starts and
 * ends as a process is for a test that starts it as one.
 */
export async function runHere(
  script: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Outcome> {
  const said = { out: "", err: "" };
  const restore = standIn(said, { args, environment });
  try {
    // Each run is another module: what it does, it does when it is loaded. No other copy of this file may have loaded the same.
    await import(`../../scripts/${script}.ts?run=${randomUUID()}`);
    return { code: Number(process.exitCode ?? 0), ...said };
  } finally {
    restore();
  }
}

function standIn(
  said: { out: string; err: string },
  { args, environment }: { args: readonly string[]; environment: Record<string, string> },
): () => void {
  const { argv, env, exitCode } = process;
  const { log, error } = console;
  const cwd = process.cwd();
  const interrupts = process.listeners("SIGINT");
  process.argv = [...argv.slice(0, 2), ...args];
  process.env = { PATH: env.PATH, ...environment };
  process.exitCode = undefined;
  // Elsewhere, so that nobody's `.env` is read.
  process.chdir(tmpdir());
  console.log = (...words: unknown[]) => {
    said.out += `${format(...words)}\n`;
  };
  console.error = (...words: unknown[]) => {
    said.err += `${format(...words)}\n`;
  };
  return () => {
    Object.assign(process, { argv, env, exitCode });
    process.chdir(cwd);
    Object.assign(console, { log, error });
    for (const added of process.listeners("SIGINT").filter((each) => !interrupts.includes(each)))
      process.off("SIGINT", added);
  };
}
