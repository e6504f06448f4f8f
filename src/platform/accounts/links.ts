/** Purpose of a mailed link. */
export type LinkKind = "confirm" | "reset" | "email" | "invitation";

/** Hours for which a link of each kind is valid. */
export const hoursOf: Record<LinkKind, number> = { confirm: 72, reset: 1, email: 72, invitation: 7 * 24 };

export type NewLink<About = unknown> = {
  kind: LinkKind;
  /** Only the newest link of a kind and subject is valid. An email address, a user's id or a member's id. */
  subject: string;
  /** JSON without secrets. */
  about: About;
  /** The recipient's address as written. */
  address: string;
};

/** Content of a valid link. */
export type LinkContent<About = unknown> = { about: About; address: string; expiresAt: Date };

/**
 * Reason why a link is invalid: never issued, used up, replaced by a newer one or withdrawn, too old; `in_use`: another caller is using it
 * right now.
 */
export type LinkFault = "unknown" | "used" | "replaced" | "expired" | "in_use";

/** A link is no longer valid, or never was one. */
export class BadLink extends Error {
  override readonly name = "BadLink";
  readonly fault: LinkFault;
  constructor(fault: LinkFault) {
    super(`this link is not good: ${fault}`);
    this.fault = fault;
  }
}

/**
 * Mailed links: 256 random bits each, of which only a hash is stored. A link is used up once; opening it uses nothing up, because mail
 * scanners open links. All methods throw Unavailable.
 */
export type Links = {
  /** Issues a link and returns its token. Earlier links of the same kind and subject become invalid. */
  issue(link: NewLink): Promise<string>;
  /** Returns the link's content without using it up. Throws BadLink. */
  find<About = unknown>(kind: LinkKind, token: string): Promise<LinkContent<About>>;
  /**
   * Runs `work` and uses the link up; concurrent uses of the same link are refused. If `work` throws, the link stays valid; if the process
   * dies in it, the link is valid again after a minute. So `work` may find its first steps done already. Throws BadLink, and the errors of
   * `work`.
   */
  use<About, Result>(
    kind: LinkKind,
    token: string,
    work: (link: LinkContent<About>) => Promise<Result>,
  ): Promise<Result>;
  /** Uses the link up at once. Throws BadLink. */
  take<About = unknown>(kind: LinkKind, token: string): Promise<LinkContent<About>>;
  /** Makes all links of this kind and subject invalid. */
  withdraw(kind: LinkKind, subject: string): Promise<void>;
  /** Invalidates the tokens that are links, because a third party may have read them. Returns the tokens that are, or ever were, links. */
  withdrawLeaked(tokens: readonly string[]): Promise<string[]>;
};
