import { Unavailable } from "#src/eventStore/eventStore.ts";

/**
 * The passwords of users: outside the log, as hashes. What a password must be is judged before it comes here
 * (src/commands/users/passwordRules.ts). Both throw Unavailable; TooManyHashes where too many wait for a hash already.
 */
export type Passwords = {
  /** From now on this one alone matches. */
  set(userId: string, password: string): Promise<void>;
  /**
   * Whether this is the user's password. `null`, and a user without one: false, after the same work. A hash made with weaker parameters than
   * today's is made again on the way.
   */
  matches(userId: string | null, password: string): Promise<boolean>;
};

/** Turns passwords into hashes that say how they were made. */
export type PasswordHasher = {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
  /** Made with weaker parameters than today's. */
  isWeak(hash: string): boolean;
};

/** Each hash takes memory and a core for a moment: those who come on top of a full line are told to come again. */
export class TooManyHashes extends Unavailable {
  override readonly name = "TooManyHashes";
}

/** One password however a keyboard composes it: the same letters with an accent typed or added. */
export const normalised = (password: string): string => password.normalize("NFKC");
