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

/** What a link leads to. */
export type Linked<About = unknown> = { about: About; address: string; expiresAt: Date };

/** Why a link is not good: never given out, used up, replaced by a newer one or withdrawn, too old; `in_use`: by somebody right now. */
export type LinkFault = "unknown" | "used" | "replaced" | "expired" | "in_use";

/** A link that is not good any more, or never was one. */
export class BadLink extends Error {
  override readonly name = "BadLink";
  readonly fault: LinkFault;
  constructor(fault: LinkFault) {
    super(`this link is not good: ${fault}`);
    this.fault = fault;
  }
}

/**
 * Mailed links: 256 random bits each, of which only a hash is kept. A link is used up once; looking at it uses nothing, because mail scanners
 * press links. All throw Unavailable.
 */
export type Links = {
  /** A new link's token. Those of its kind and subject that were given out before are not good any more. */
  issue(link: NewLink): Promise<string>;
  /** What the link leads to, without using it. Throws BadLink. */
  find<About = unknown>(kind: LinkKind, token: string): Promise<Linked<About>>;
  /**
   * Uses the link up by doing `work`; others with the same link are refused meanwhile. If `work` throws, the link stays good; if the process dies
   * in it, it is good again after a minute. So `work` may find its first steps done already. Throws BadLink, and what `work` throws.
   */
  use<About, Result>(kind: LinkKind, token: string, work: (link: Linked<About>) => Promise<Result>): Promise<Result>;
  /** Uses the link up at once. Throws BadLink. */
  take<About = unknown>(kind: LinkKind, token: string): Promise<Linked<About>>;
  /** No link of this kind and subject is good any more. */
  withdraw(kind: LinkKind, subject: string): Promise<void>;
  /** None of these that is a link, of whatever kind, is good any more: somebody else may read it. Answers those that are, or ever were, links. */
  withdrawLeaked(tokens: readonly string[]): Promise<string[]>;
};
