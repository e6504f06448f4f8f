import { Unavailable } from "#src/eventStore/eventStore.ts";

/**
 * Passwords of users, stored as hashes outside the log. Password rules are checked before (src/commands/users/passwordRules.ts). Both
 * methods throw Unavailable, and TooManyHashes if too many callers are waiting for a hash.
 */
export type Passwords = {
  /** Replaces the user's password. */
  set(userId: string, password: string): Promise<void>;
  /**
   * True if this is the user's password. For `null`, and a user without a password, false after the same amount of work. A hash made with
   * weaker parameters than today's is replaced on a match.
   */
  matches(userId: string | null, password: string): Promise<boolean>;
};

/** Turns passwords into hashes that contain their parameters. */
export type PasswordHasher = {
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
  /** True if the hash was made with weaker parameters than today's. */
  isWeak(hash: string): boolean;
};

/** The queue of hashes is full (each takes memory and a core for a moment): the caller should retry later. */
export class TooManyHashes extends Unavailable {
  override readonly name = "TooManyHashes";
}

/** Normalises the ways in which keyboards compose characters, such as a letter with a separate accent. */
export const normalised = (password: string): string => password.normalize("NFKC");
