import type { LogLine } from "./logLines.ts";

/** Trouble at the desk: signing in, accounts, the pages of the console. */
export const consoleLogLines: readonly LogLine[] = [
  {
    level: "error",
    says: "a page of the console failed",
    todo: "`err` says why: it is a bug in the code. Somebody who is signed in saw an error page and can try again.",
  },
];
