/** One sign-in of a person in one browser. */
export type Session = {
  /** Changes whenever a right of the person does: what runs under an earlier one has ended. */
  id: string;
  userId: string;
  /** The workspace that its pages show; null while none is chosen. */
  workspaceId: string | null;
  startedAt: Date;
  /** To the minute. */
  seenAt: Date;
  /** When the password was last given. */
  passwordAt: Date;
  /** What the browser calls itself. */
  agent: string | null;
};

/** A session as it is given out: `token` is the cookie's, kept nowhere but there. */
export type Issued = { session: Session; token: string };

/**
 * Who is signed in. A session ends after 12 hours without a request of the person, and after 14 days in any case. Every method throws Unavailable if the store
 * cannot be asked.
 */
export type Sessions = {
  start(of: { userId: string; workspaceId: string | null; agent: string | null }): Promise<Issued>;
  /**
   * `due`: its token is to be replaced now, by `rotate`. Undefined for what is no token of a living session. `quietly`: what a page asks for by itself
   * keeps no session alive.
   */
  find(token: string, options?: { quietly?: boolean }): Promise<(Session & { due: boolean }) | undefined>;
  /**
   * The same session under a new id and a new token; the old token is known for some seconds more, for requests that are on their way, or `atOnce` no more.
   * Undefined if it has ended.
   */
  rotate(id: string, options?: { atOnce?: boolean }): Promise<Issued | undefined>;
  /** Shows another workspace. As a change of right: it gets a new id, and a new token with `rotate`. */
  choose(id: string, workspaceId: string | null): Promise<Issued | undefined>;
  /** The password was given again. */
  confirmPassword(id: string): Promise<void>;
  /** Living ones, the newest first; at most 100. */
  list(userId: string): Promise<Session[]>;
  /** Ends one of a user's; false if there is no such. */
  end(userId: string, id: string): Promise<boolean>;
  /** Ends all of a user's, but for `except`. Returns their ids. */
  endAll(userId: string, options?: { except?: string }): Promise<string[]>;
  /**
   * Rights of the user in this workspace have changed: those of their sessions that show it get new ids, and new tokens at their next request.
   * Returns the old ids, for a caller that waits until nothing runs under them.
   */
  renew(userId: string, workspaceId: string): Promise<string[]>;
};
