import Mocha from "mocha";

/** A test or hook that failed, as text: it crosses from the process that ran it to the one that reports. */
export type TestFailure = {
  /** The full title: every `describe` and the test. */
  title: string;
  file: string;
  /** Message, difference and stack. */
  error: string;
};

const maxLines = 60;
const maxCharacters = 6_000;
const maxFrames = 20;

export const testFailure = (test: Mocha.Runnable, thrown: unknown, file: string): TestFailure => ({
  title: test.titlePath().join(" › "),
  file,
  error: errorText(thrown),
});

/** All failures with a heading and numbers, for the end of the output: what a log cut at its beginning still shows. */
export const failureReport = (failures: readonly TestFailure[]): string =>
  failures.map(({ title, file, error }, n) => `\n${n + 1}) ${title}\n   ${file}\n${indent(error)}`).join("\n");

function errorText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return bounded(String(thrown));
  const { name, message, stack = "", cause } = thrown;
  const { actual, expected, showDiff } = thrown as Error & { actual?: unknown; expected?: unknown; showDiff?: boolean };
  const differs = showDiff !== false && expected !== undefined && actual !== expected;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return [
    bounded(`${name}: ${message}`),
    ...(differs ? [bounded(difference(actual, expected))] : []),
    ...frames.slice(0, maxFrames),
    ...(cause === undefined ? [] : [`caused by ${errorText(cause)}`]),
  ].join("\n");
}

function difference(actual: unknown, expected: unknown): string {
  const { generateDiff } = Mocha.reporters.Base as unknown as { generateDiff(a: string, e: string): string };
  const text = (value: unknown): string =>
    typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value));
  return generateDiff(text(actual), text(expected));
}

function bounded(text: string): string {
  const lines = text.split("\n");
  const kept = lines.slice(0, maxLines).join("\n").slice(0, maxCharacters);
  return kept.length < text.length ? `${kept}\n… ${lines.length} lines in all` : kept;
}

const indent = (text: string): string => text.replace(/^(?=.*\S)/gm, "     ");
