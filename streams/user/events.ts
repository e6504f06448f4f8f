import type { Event } from "../event.ts";

/**
 * A person's account. It contains no password and no token of a mailed link: their hashes are stored outside the log. `email` keeps its
 * spelling. The person's rights in a workspace are on `member-<workspaceId>`.
 */
export type UserEvent =
  /** `unconfirmed`: the user entered the address, and has not confirmed it yet. */
  | Event<"UserRegistered", { email: string; name: string | null; unconfirmed?: true }>
  | Event<"UserRenamed", { name: string | null }>
  /** The user has confirmed the address by reading mail there; possibly their present one. */
  | Event<"UserEmailChanged", { email: string }>
  /** `registered`: the first one. `reset`: by a mailed link. `changed`: by a user who knew the old one. */
  | Event<"PasswordSet", { because: "registered" | "reset" | "changed" }>
  /** `sessionId` is no secret: the browser has a token, of which only a hash is stored. */
  | Event<"SignedIn", { sessionId: string }>
  /** All sessions were ended, except the requesting one, if any. */
  | Event<"SessionsEnded", { because: SessionsEndedBecause }>
  /** The user can no longer sign in. */
  | Event<"UserDisabled", Record<string, never>>
  | Event<"UserEnabled", Record<string, never>>;

/** `asked`: the user signed out everywhere. `disabled`: by the operator. Others: the change that requires a new sign-in. */
export type SessionsEndedBecause = "asked" | "password_reset" | "password_changed" | "email_changed" | "disabled";

export const userStream = (id: string): string => `user-${id}`;
