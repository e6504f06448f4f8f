/** What a mailed link is for. */
export type LinkKind = "confirm" | "reset" | "email" | "invitation";

/** How long a link of each kind is good, in hours. */
export const hoursOf: Record<LinkKind, number> = { confirm: 72, reset: 1, email: 72, invitation: 7 * 24 };

export type NewLink<About = unknown> = {
  kind: LinkKind;
  /** What only the newest link of its kind is good for: an address, a user's id, a member's id. */
  subject: string;
  /** JSON; holds nothing secret. */
  about: About;
  /** To whom it is mailed, as written. */
  address: string;
};

/** A link that is good, or why it is not: it was never given out, somebody used it up, a newer one was asked for, its time is over. */
export type FoundLink<About = unknown> =
  | { state: "good"; about: About; address: string; expiresAt: Date }
  | { state: "unknown" | "used" | "replaced" | "expired" };

/**
 * Mailed links: 256 random bits each, of which only a hash is kept. A link is used up once; looking at it uses nothing, because mail scanners
 * press links. All throw Unavailable.
 */
export type Links = {
  /** A new link's token. Those of its kind and subject that were given out before are not good any more. */
  issue(link: NewLink): Promise<string>;
  /** What the link is, without using it. */
  find<About = unknown>(kind: LinkKind, token: string): Promise<FoundLink<About>>;
  /**
   * Uses the link up by doing `work`. Others with the same link wait for nobody: they are refused meanwhile. If `work` throws, the link stays
   * good; if the process dies in it, it is good again after a minute. So `work` may find its first steps done already. Throws Rejected
   * `invalid_request` with the reason for a link that is not good.
   */
  use<About, Result>(
    kind: LinkKind,
    token: string,
    work: (link: { about: About; address: string }) => Promise<Result>,
  ): Promise<Result>;
  /** Uses the link up at once. Throws Rejected like `use`. */
  take<About = unknown>(kind: LinkKind, token: string): Promise<{ about: About; address: string }>;
  /** No link of this kind and subject is good any more. */
  withdraw(kind: LinkKind, subject: string): Promise<void>;
};
