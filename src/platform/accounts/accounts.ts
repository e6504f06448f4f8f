import type { Links } from "./links.ts";
import type { Passwords } from "./passwords.ts";
import type { Sessions } from "./sessions.ts";

/** Data about people that is kept outside the event log: none of it may ever be in an event. */
export type Accounts = {
  sessions: Sessions;
  passwords: Passwords;
  links: Links;
};
