import type { Event } from "../event.ts";

/**
 * A person's account. Neither a password nor anything that was mailed is in here: of those, hashes are kept outside the log. `email` keeps its
 * spelling. What the person may do in which workspace is on `member-<workspaceId>`.
 */
export type UserEvent =
  /** `unconfirmed`: they named the address themselves, and nobody has read mail there yet. */
  | Event<"UserRegistered", { email: string; name: string | null; unconfirmed?: true }>
  | Event<"UserRenamed", { name: string | null }>
  /** Mail to the address was read. The same address again: it is confirmed by that. */
  | Event<"UserEmailChanged", { email: string }>
  /** `registered`: the first one. `reset`: by a mailed link. `changed`: by who knew the one before. */
  | Event<"PasswordSet", { because: "registered" | "reset" | "changed" }>
  /** `sessionId` is no secret: what the browser holds is a token, of which only a hash is kept. */
  | Event<"SignedIn", { sessionId: string }>
  /** Every session but the one that asked, if one did, is at an end. */
  | Event<"SessionsEnded", { because: SessionsEndedBecause }>
  /** Nobody signs in as this user any more. */
  | Event<"UserDisabled", Record<string, never>>
  | Event<"UserEnabled", Record<string, never>>;

/** `asked`: signed out everywhere. `disabled`: by the operator. The others: what changed made everybody sign in again. */
export type SessionsEndedBecause = "asked" | "password_reset" | "password_changed" | "email_changed" | "disabled";

export const userStream = (id: string): string => `user-${id}`;
