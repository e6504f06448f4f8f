/**
 * Returns the address without its tag: mail to name+tag@domain belongs to name@domain. A plus sign that begins an address, such as a
 * telephone number's, begins no tag. Linear in the address's length, since strangers write addresses.
 */
export function withoutTag(address: string): string {
  const plus = address.indexOf("+");
  const at = plus <= 0 ? -1 : address.indexOf("@", plus);
  return at < 0 ? address : address.slice(0, plus) + address.slice(at);
}
