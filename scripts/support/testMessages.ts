import type { TestFailure } from "./testFailure.ts";

/** What a process that runs tests tells the one that started it: one message for each test or hook that ended, and one when a file has. */
export type Told = { outcome: "passed" } | { outcome: "failed"; failure: TestFailure } | { ended: string };
/** What it is told: the next file and where to load it from, or that there is none. */
export type Asked = { file: string; from: string } | { end: true };

/** On standard output, after everything that a file has written there. */
export const endOfFile = "\u0000end of file\n";
