/** Mail to name+tag@domain is the mail of name@domain: the address without its tag. In time linear in its length, since strangers write addresses. */
export function withoutTag(address: string): string {
  const plus = address.indexOf("+");
  const at = plus < 0 ? -1 : address.indexOf("@", plus);
  return at < 0 ? address : address.slice(0, plus) + address.slice(at);
}
