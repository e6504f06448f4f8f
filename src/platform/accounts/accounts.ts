import type { Links } from "./links.ts";
import type { Passwords } from "./passwords.ts";
import type { Sessions } from "./sessions.ts";

/** What is kept of people outside the event log: nothing of it may ever be in an event. */
export type Accounts = {
  sessions: Sessions;
  passwords: Passwords;
  links: Links;
};
