import type { Event } from "../event.ts";

/** The account that signs in with this address. `email` keeps the spelling; spellings that differ in case are one address. */
export type UserEmailEvent =
  | Event<"UserEmailClaimed", { userId: string; email: string }>
  | Event<"UserEmailReleased", { userId: string }>;

/** One stream per address; the name contains a hash of it in lower case, so that no address is in a stream id. */
export const userEmailStream = (mailboxSha256: string): string => `userEmail-${mailboxSha256}`;
