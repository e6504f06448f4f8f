/**
 * The forms of an address. Mail is read in more forms than it may be sent to: unquoted dots in a row, as phones in Japan have them, are
 * one. One address is kept in one form; quotes that it does not need are no part of it.
 */

const atext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10FFFF}-]";
/** A local part that has no quotes here; servers want it quoted where its dots are not between other characters. */
const dotted = new RegExp(`^(?:${atext}|\\.)+$`, "u");
const dotAtom = new RegExp(`^${atext}+(?:\\.${atext}+)*$`, "u");
const quoted = /^"((?:[^"\\]|\\.)*)"$/su;
/** All that may be in quotes, the quotes and backslashes escaped. */
const quotable = /^[\x20-\x3b\x3d\x3f-\x7e\u0080-\u{10FFFF}]*$/u;
const domainName = /^(?:[A-Za-z0-9_\u0080-\u{10FFFF}-]+(?:\.[A-Za-z0-9_\u0080-\u{10FFFF}-]+)*|\[[A-Za-z0-9.:]+\])$/u;

const [maxLocal, maxDomain] = [64, 255];

/** The form in which an address is kept; null for what is none. */
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

/** The form in which mail is sent to an address: what is no dot-atom is quoted (RFC 5321). Null where there is none. */
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
