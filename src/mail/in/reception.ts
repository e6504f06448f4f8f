/** Owner of an envelope address: an agent's identity, or the service itself, which sends approval mail. */
export type Recipient =
  | { kind: "identity"; identityId: string; workspaceId: string }
  | { kind: "approvals" }
  /** The operator: every mail server must accept mail for this address. */
  | { kind: "postmaster" };

/** A received mail with all recipients for which it was accepted: at least one. */
export type MailTransaction = {
  /** `address`: the envelope recipient as the sender wrote it. Several may belong to one identity. */
  recipients: readonly { recipient: Recipient; address: string }[];
  /** Envelope sender; "" for the null sender. */
  from: string;
  /** Raw bytes as received after DATA. */
  raw: Buffer;
  remote: RemoteClient;
};

/** The client that handed the mail over. */
export type RemoteClient = {
  ip: string;
  /** Name given in its greeting; "" if it gave none. */
  helo: string;
  /** The address is that of our own relay, which did not name its client: it says nothing about the sender. */
  relay?: true;
};

/** Destination of received mail, by any route. Both methods throw Unavailable (src/eventStore/eventStore.ts) if storage is down. */
export type Reception = {
  /**
   * Returns the owner of this address; undefined if no identity has it, which is never cached. A recipient may be some seconds out of
   * date, unless `anew` is set.
   */
  resolve(address: string, options?: { anew?: boolean }): Promise<Recipient | undefined>;
  /** Resolves when every recipient's copy is durable: only then may the sender be told that the mail was accepted. */
  accept(transaction: MailTransaction): Promise<void>;
};
