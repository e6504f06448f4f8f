import type { LogLine } from "./logLines.ts";

/** Trouble at the desk: signing in, accounts, the pages of the console. */
export const consoleLogLines: readonly LogLine[] = [
  {
    level: "error",
    says: "a page of the console failed",
    todo: "`err` says why: it is a bug in the code. Somebody who is signed in saw an error page and can try again.",
  },
  {
    level: "error",
    says: "a request to sign in or sign up failed",
    todo: "`err` says why: PostgreSQL or the event log did not answer, or it is a bug in the code. The person saw an error and can try again; a mailed link that was used in it is good again.",
  },
  {
    level: "warn",
    says: "a mail about an account did not leave: the person has to ask for it again",
    todo: "`reason` says why: the mail provider refused it or did not answer three times within a minute, or the installation is paused. A person who waits for a link asks for a new one.",
  },
  {
    level: "error",
    says: "a call of an MCP client failed",
    todo: "`err` says why: it is a bug in the code. The client was told `internal_error`.",
  },
  {
    level: "warn",
    says: "connections to HTTP beyond HTTP_CONNECTIONS are refused",
    todo: "Said once a minute while it goes on: `refused` is how many since the line before, `reason` which of the two limits, `remote` the newest of them. `remote` is your own proxy? Set `TRUST_PROXY`, so that it is exempt from the limit of one address. A customer with many clients, or more callers than expected? Raise `HTTP_CONNECTIONS`. A stranger? Nothing, or keep the address away in front of the service.",
  },
];
