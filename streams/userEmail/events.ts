import type { Event } from "../event.ts";

/** Whose account signs in with this address. `email` keeps the spelling; spellings that differ in case are one address. */
export type UserEmailEvent =
  | Event<"UserEmailClaimed", { userId: string; email: string }>
  | Event<"UserEmailReleased", { userId: string }>;

/** One stream an address; the name carries a hash of it in lower case, so that no address is in a stream id. */
export const userEmailStream = (mailboxSha256: string): string => `userEmail-${mailboxSha256}`;
