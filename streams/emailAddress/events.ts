import type { Event } from "../event.ts";

export type EmailAddressEvent =
  | Event<"AddressClaimed", { address: string; identityId: string; workspaceId: string }>
  | Event<"AddressReleased", { identityId: string }>
  /** On the sandbox domain: the workspace has an identity at this address with a tag, so no other workspace gets the plain address. */
  | Event<"AddressReserved", { workspaceId: string }>;

/** One stream per address; the name carries a hash, so that no address is in a stream id. */
export const emailAddressStream = (addressSha256: string): string => `emailAddress-${addressSha256}`;
