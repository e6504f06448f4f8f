/** Session of a person in one browser. */
export type Session = {
  /** Changes whenever the person's rights change: everything running under an earlier id is then ended. */
  id: string;
  userId: string;
  /** Workspace shown by its pages; null while none is chosen. */
  workspaceId: string | null;
  startedAt: Date;
  /** Time of the last request, to the minute. */
  seenAt: Date;
  /** Time when the password was last entered. */
  passwordAt: Date;
  /** User-Agent of the browser. */
  agent: string | null;
};

/** A session as it is issued: `token` is the cookie's, stored nowhere else. */
export type Issued = { session: Session; token: string };

/**
 * Sessions of signed-in users. A session ends after 12 hours without a request of the person, and after 14 days in any case. Every method
 * throws Unavailable if the store cannot be reached.
 */
export type Sessions = {
  start(of: { userId: string; workspaceId: string | null; agent: string | null }): Promise<Issued>;
  /**
   * Finds a session by its token; undefined if no live session has it. `due`: its token must be replaced now, by `rotate`. `quietly`: a
   * page's background request, which does not keep the session alive.
   */
  find(token: string, options?: { quietly?: boolean }): Promise<(Session & { due: boolean }) | undefined>;
  /**
   * Gives the session a new id and a new token. The old token stays valid for some seconds, for requests in flight; not with `atOnce`.
   * Undefined if the session has ended.
   */
  rotate(id: string, options?: { atOnce?: boolean }): Promise<Issued | undefined>;
  /** Switches to another workspace. Like a change of rights, this gives the session a new id, and a new token with `rotate`. */
  choose(id: string, workspaceId: string | null): Promise<Issued | undefined>;
  /** Records that the password was entered again. */
  confirmPassword(id: string): Promise<void>;
  /** Returns the user's live sessions, the newest first; at most 100. */
  list(userId: string): Promise<Session[]>;
  /** Ends one session of a user; false if there is no such session. */
  end(userId: string, id: string): Promise<boolean>;
  /** Ends all sessions of a user except `except`. Returns their ids. */
  endAll(userId: string, options?: { except?: string }): Promise<string[]>;
  /**
   * Applies a change of the user's rights in this workspace: sessions that show it get new ids, and new tokens at their next request.
   * Returns the old ids, for a caller that waits until nothing runs under them.
   */
  renew(userId: string, workspaceId: string): Promise<string[]>;
};
