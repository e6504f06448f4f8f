/** A signed head of an audit tree. `position`: of its last entry, in the log. `checkpoint`: the signed note. */
export type SignedHead = {
  treeId: string;
  epoch: number;
  size: number;
  root: Buffer;
  position: number;
  checkpoint: string;
  signedAt: Date;
  /** Set once the tree has another root at this size: nothing is signed until the next epoch. */
  contradictedAt: Date | null;
};

/** Identifies a signed head. */
export type HeadName = Pick<SignedHead, "treeId" | "epoch" | "size">;

/** A head about to be recorded, with the public key of its signature (a verifier key of signed-note). */
export type NewHead = Omit<SignedHead, "contradictedAt"> & { verifierKey: string };

/** The signed heads, which no rebuild makes again. */
export type AuditHeads = {
  /** Returns the newest head of a tree. */
  newest(treeId: string): Promise<SignedHead | undefined>;
  /** Records a head as the newest, if `last` still is the newest one. Returns false otherwise, and has recorded nothing. */
  record(head: NewHead, last: SignedHead | undefined): Promise<boolean>;
  /** Records that a tree contradicts a signed head: its newest one, or a copy that is newer than this database. */
  contradict(head: HeadName & Pick<SignedHead, "root" | "checkpoint"> & { at: Date }): Promise<void>;
  /** Forgets the newest head of a tree if its epoch ended. It stays in the list of heads. */
  endEpochsBefore(epoch: number, treeId: string): Promise<void>;
  /** Returns the trees that contradict their newest heads. */
  contradicted(): Promise<string[]>;
  /** Returns heads of a tree, the newest first. */
  list(treeId: string, limit: number): Promise<{ epoch: number; size: number; checkpoint: string; signedAt: Date }[]>;
  /** Returns the newest heads that are not announced, of trees whose last announcement was before this time. */
  unannounced(before: Date): Promise<SignedHead[]>;
  /** Adds cosignatures of witnesses to a checkpoint, one of each name, and returns the checkpoint. */
  cosign(head: HeadName, signatures: readonly { name: string; line: string }[]): Promise<string>;
  /** Records that a head was announced. */
  announce(head: HeadName, at: Date): Promise<void>;
  /** Returns the public key that signed a head; undefined if that head was never recorded. */
  verifierKeyOf(head: Pick<SignedHead, "treeId" | "epoch" | "size">): Promise<string | undefined>;
  /** Returns the public keys that have signed heads, and when each first did. */
  verifierKeys(): Promise<{ verifierKey: string; since: Date }[]>;
  /** The newest checkpoints outside the database. */
  readonly copies: HeadCopies;
};

/** Copies of the newest checkpoints outside the database, so that a restored database contradicts them. */
export type HeadCopies = {
  read(treeId: string): Promise<string | undefined>;
  write(treeId: string, checkpoint: string): Promise<void>;
};
