/**
 * Forms of an address. Mail is read with more forms than it may be sent to, such as unquoted consecutive dots, which Japanese phones use.
 * An address is stored in one form, without unnecessary quotes.
 */

const atext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10FFFF}-]";
/** Matches a local part that is stored unquoted. If it has a leading, trailing or doubled dot, it must be quoted when sent to a server. */
const dotted = new RegExp(`^(?:${atext}|\\.)+$`, "u");
const dotAtom = new RegExp(`^${atext}+(?:\\.${atext}+)*$`, "u");
const quoted = /^"((?:[^"\\]|\\.)*)"$/su;
/** Characters allowed in quotes, with quotes and backslashes escaped. */
const quotable = /^[\x20-\x3b\x3d\x3f-\x7e\u0080-\u{10FFFF}]*$/u;
const domainName = /^(?:[A-Za-z0-9_\u0080-\u{10FFFF}-]+(?:\.[A-Za-z0-9_\u0080-\u{10FFFF}-]+)*|\[[A-Za-z0-9.:]+\])$/u;

const [maxLocal, maxDomain] = [64, 255];

/** Returns the form in which an address is stored; null if it is not an address. */
export function canonicalAddress(text: string): string | null {
  const at = text.lastIndexOf("@");
  const [local, domain] = [
    text.slice(0, at).trim(),
    text
      .slice(at + 1)
      .trim()
      .replace(/\.$/, ""),
  ];
  if (at < 1 || !isWord(domain, maxDomain)) return null;
  const inside = quoted.exec(local)?.[1]?.replace(/\\(.)/gsu, "$1");
  if (inside === undefined) return isWord(local, maxLocal) ? `${local}@${domain}` : null;
  if (inside.length > maxLocal || !quotable.test(inside)) return null;
  return `${dotted.test(inside) ? inside : inQuotes(inside)}@${domain}`;
}

/** Returns the form in which mail is sent to an address: quoted unless it is a dot-atom (RFC 5321). Null if there is none. */
export function sendableAddress(address: string): string | null {
  const at = address.lastIndexOf("@");
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (at < 1 || address.length > 320 || !domainName.test(domain)) return null;
  if (dotAtom.test(local)) return address;
  const inside = quoted.exec(local)?.[1];
  if (inside !== undefined) return quotable.test(inside) ? address : null;
  return dotted.test(local) ? `${inQuotes(local)}@${domain}` : null;
}

const inQuotes = (local: string): string => `"${local.replace(/[\\"]/g, "\\$&")}"`;

const isWord = (text: string, maxLength: number): boolean =>
  text !== "" && text.length <= maxLength && !/[\s@<>,;:"()]/.test(text);
