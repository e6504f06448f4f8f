/** Who an envelope address belongs to: an agent's identity, or the service itself, which sends approval mail. */
export type Recipient =
  | { kind: "identity"; identityId: string; workspaceId: string }
  | { kind: "approvals" }
  /** The operator, whom every mail server has to let be written to. */
  | { kind: "postmaster" };

/** One mail as it was handed over, for all the recipients it was taken for: at least one. */
export type MailTransaction = {
  /** `address`: the envelope recipient as the sender wrote it. Several of them may be one identity's. */
  recipients: readonly { recipient: Recipient; address: string }[];
  /** The envelope sender, "" for the null sender. */
  from: string;
  /** Exactly as it came after DATA. */
  raw: Buffer;
  remote: Remote;
};

/** Who handed a mail over. */
export type Remote = {
  ip: string;
  /** How it greeted, "" if it did not. */
  helo: string;
  /** The address is that of a relay of ours, which did not say who its client was: nothing can be concluded from it about the sender. */
  relay?: true;
};

/** Where received mail goes, by any route. Both throw Unavailable (src/eventStore/eventStore.ts) when storage is away. */
export type Reception = {
  /**
   * Whose address this is; undefined if no identity has it, which is never answered from memory. A recipient may be one who was there some seconds
   * ago, unless it is asked for `anew`.
   */
  resolve(address: string, options?: { anew?: boolean }): Promise<Recipient | undefined>;
  /** Resolves when every recipient's copy is durable: from then on the sender may be told that we have the mail. */
  accept(transaction: MailTransaction): Promise<void>;
};
