import { StartError } from "#src/platform/startError.ts";
import { Rejected } from "#streams/decider.ts";

/** Wrong arguments: answered with the usage. */
export class Misuse extends Error {}

/**
 * Runs a command; `--help` shows `usage`. Errors are printed on standard error, with `usage` after wrong arguments, and the process exits
 * with 1.
 */
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
