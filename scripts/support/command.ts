import { StartError } from "#src/platform/startError.ts";
import { Rejected } from "#streams/decider.ts";

/** Typed wrongly: answered with how it is typed. */
export class Misuse extends Error {}

/** Does what was typed; `--help` shows `usage`. What goes wrong is said on standard error, with `usage` where it was typed wrongly, and the process ends with 1. */
export async function runCommand(usage: string, run: () => Promise<unknown>): Promise<void> {
  if (process.argv.some((argument) => argument === "--help" || argument === "-h")) return console.log(usage);
  try {
    await run();
  } catch (error) {
    process.exitCode = 1;
    if (isMisuse(error)) console.error(`${error.message}\n\n${usage}`);
    else console.error(error instanceof StartError || error instanceof Rejected ? error.message : error);
  }
}

const isMisuse = (error: unknown): error is Error =>
  error instanceof Misuse ||
  (error instanceof Error && "code" in error && `${error.code}`.startsWith("ERR_PARSE_ARGS"));
