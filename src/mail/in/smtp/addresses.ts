import ipaddr from "ipaddr.js";

/** A set of networks that addresses are tested against. */
export type Networks = { has(address: string): boolean };

/** `listed`: addresses, and networks such as 10.0.0.0/8 or 2001:db8::/32. All spellings of an IPv4 address are equal. */
export function networksOf(listed: readonly string[]): Networks {
  const ranges = listed.map((each) => {
    const [address = "", bits] = each.split("/");
    const start = ipaddr.process(address);
    return { start, bits: bits === undefined ? start.toByteArray().length * 8 : Number(bits) };
  });
  return {
    has(address) {
      if (!ipaddr.isValid(address)) return false;
      const parsed = ipaddr.process(address);
      return ranges.some(({ start, bits }) => start.kind() === parsed.kind() && parsed.match(start, bits));
    },
  };
}

/** Normalises an address: an IPv4 address that came over IPv6 (::ffff:192.0.2.1) becomes IPv4. */
export const canonicalAddress = (address: string): string =>
  ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;

/**
 * Returns the key under which a sender's connections and mail are counted: its IPv4 address, or its IPv6 /64, which belongs to one
 * customer.
 */
export function senderKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const bytes = ipaddr.process(address).toByteArray();
  const network = bytes.length === 4 ? bytes : [...bytes.slice(0, 8), ...Array(8).fill(0)];
  return ipaddr.fromByteArray(network).toString() + (bytes.length === 4 ? "" : "/64");
}
