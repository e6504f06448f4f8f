import { readAddresses } from "./addressList.ts";
import type { HeaderFields } from "./headerFields.ts";

/** Fields that servers add when they deliver a mail to an address or forward it from there. */
const tracesOfAddresses = [
  "delivered-to",
  "x-forwarded-to",
  "x-forwarded-for",
  "resent-to",
  "x-original-to",
  "envelope-to",
];

/** Fields that a mail's author writes. Servers add theirs above these. */
const authorsFields = ["from", "sender", "to", "cc", "subject", "date", "message-id"];

/** The header fields that `forwardedFrom` reads. */
export const forwardingFields: readonly string[] = [...tracesOfAddresses, ...authorsFields];

/** Addresses that are kept, at most: a mail is forwarded a few times. */
const maxForwarders = 10;
const maxFieldLength = 2_000;
const maxAddressLength = 320;

/** Reads the addresses of a field, between which servers write blanks too. Each step takes time proportional to the length. */
const addressesIn = (value: string): { address: string }[] =>
  readAddresses(
    value
      .slice(0, maxFieldLength)
      .replaceAll(/\s+/g, " ")
      .replaceAll(/ (?=[^\s@]+@)/g, ", "),
  );

/**
 * Returns the addresses, in lower case, through which a mail came: those that servers named on its way, the receiving one included. Fields
 * among or below the author's do not count, because the author may have written them.
 */
export function forwardedFrom(fields: HeaderFields): string[] {
  const values = tracesOfAddresses.flatMap((name) => fields.above(name, authorsFields));
  const addresses = values
    .flatMap(addressesIn)
    .map(({ address }) => address.toLowerCase())
    .filter((address) => address.length <= maxAddressLength);
  return [...new Set(addresses)].slice(0, maxForwarders);
}
