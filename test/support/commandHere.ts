import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { format } from "node:util";

export type CommandOutcome = { code: number; out: string; err: string };

/**
 * Runs a command of `scripts/` in this process, with the given arguments, environment and console; a separate process would cost a second
 * of CPU to start. One command at a time, because it replaces the environment and console of this process.
 */
export async function runHere(
  script: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<CommandOutcome> {
  const said = { out: "", err: "" };
  const restore = standIn(said, { args, environment });
  try {
    // A command runs when it is loaded, so each run imports a fresh module, under a name that no other run uses.
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
  // Runs in another directory, so that no `.env` is read.
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
