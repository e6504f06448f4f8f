/**
 * The passwords of users: outside the log, as Argon2id hashes. What a password must be is judged before it comes here
 * (src/commands/users/passwordRules.ts). Both throw Unavailable, also where too many wait for a hash already.
 */
export type Passwords = {
  /** From now on this one alone matches. */
  set(userId: string, password: string): Promise<void>;
  /**
   * Whether this is the user's password. `null`, and a user without one: false, after the same work. A hash made with weaker parameters than
   * today's is made anew on the way.
   */
  matches(userId: string | null, password: string): Promise<boolean>;
};
