/** Who an envelope address belongs to: an agent's identity, or the service itself, which sends approval mail. */
export type Recipient = { kind: "identity"; identityId: string; workspaceId: string } | { kind: "approvals" };

/** One mail for one envelope recipient, with its bytes exactly as they came after DATA. */
export type Delivery = {
  recipient: Recipient;
  /** The envelope recipient as the sender wrote it. */
  address: string;
  /** The envelope sender, "" for the null sender. */
  from: string;
  raw: Buffer;
  remote: { ip: string; helo: string };
};

/** Where received mail goes, by any route. Both throw Unavailable (src/eventStore/eventStore.ts) when storage is away. */
export type Reception = {
  resolve(address: string): Promise<Recipient | undefined>;
  /** Resolves when the mail is durable: from then on its sender may be told that we have it. */
  accept(delivery: Delivery): Promise<void>;
};
