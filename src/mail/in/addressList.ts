import { canonicalAddress } from "#streams/emailAddress/addrSpec.ts";
import { decodeWords } from "./mime/encodedWords.ts";

export type Mailbox = { name: string; address: string };

/** Matches a quoted string, an encoded word, an address in angle brackets, a comment, a separator, or any other run of text. */
const tokens =
  /"(?:[^"\\]|\\.)*(?:"|\\?$)|=\?[^?\s]{1,100}\?[qb]\?[^?]*\?=|<(?:"(?:[^"\\]|\\.)*"|[^<>"])*>?|\([^()]*\)|[,;:]|[^"<(,;:=]+|[(=]/gis;

/** Maximum number of words that are read as one name with commas and without quotes. */
const maxNameWords = 20;

/** The tokens between two separators, in their original form. */
type AddressItem = { words: string[]; comments: string[]; angle: string | null };

/**
 * Returns the mailboxes of an address field in order, members of groups included. Reads what people and machines write: names with commas
 * and without quotes, `<mailto:…>`, a bare address. Never takes an address out of a quoted or encoded name, but out of a whole value that
 * is encoded or quoted and ends in `<…>`: some programs write a field so.
 */
export function readAddresses(value: string): Mailbox[] {
  const mailboxes = mailboxesIn(value);
  const whole = value.trim();
  if (mailboxes.length > 0 || !wrapped.test(whole)) return mailboxes;
  const inside = nameOf([whole], []);
  return /<[^<>]*>$/.test(inside) ? mailboxesIn(inside) : [];
}

/** Matches a value that is one quoted string, or encoded words alone. */
const wrapped = /^(?:"(?:[^"\\]|\\.)*"|(?:\s*=\?[^?\s]{1,100}\?[qb]\?[^?]*\?=)+)$/is;

function mailboxesIn(value: string): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  /** Words before commas that may be the first parts of a name, with their commas. */
  let open: string[] = [];
  let item: AddressItem = { words: [], comments: [], angle: null };

  function close(separator: string): void {
    const mailbox = mailboxOf(item, open);
    if (mailbox) mailboxes.push(mailbox);
    const mayBeginName = !mailbox && item.angle === null && separator === "," && open.length < maxNameWords;
    if (mayBeginName) open.push(...item.words, ",");
    else open = [];
    item = { words: [], comments: [], angle: null };
  }

  for (const [token] of value.matchAll(tokens)) {
    if (token === "," || token === ";") close(token);
    else if (token === ":") {
      // The words name a group, unless they are part of an address.
      if (item.angle === null) item.words = [];
    } else if (token.startsWith("<")) {
      // An empty pair of brackets before another one is not an address.
      if (item.angle === null || item.angle === "<") item.angle = token;
    } else if (token.startsWith("(") && token.length > 1) item.comments.push(token.slice(1, -1));
    else item.words.push(token);
  }
  close("");
  return mailboxes;
}

function mailboxOf({ words, comments, angle }: AddressItem, before: readonly string[]): Mailbox | undefined {
  if (angle !== null) {
    const address = inAngles(angle);
    return address === null ? undefined : { name: nameOf([...before, ...words], comments), address };
  }
  const bare = bareAddress(words);
  return bare && { name: nameOf(bare.others, comments), address: bare.address };
}

/** Strips what programs put around an address: a scheme, a route, blanks, a second bracket. Of a mailto link only the address remains. */
function inAngles(angle: string): string | null {
  const inside = angle.replace(/^<[<\s]*/, "").replace(/[\s>]*$/, "");
  const link = /^mailto:([^?]*)/i.exec(inside)?.[1];
  return canonicalAddress((link?.replace(/%40/g, "@") ?? inside).trim().replace(/^@[^:"]*:/, ""));
}

/** Finds an address without brackets: a quoted local part with what follows it, or the last unquoted word with an at sign. */
function bareAddress(words: readonly string[]): { address: string; others: string[] } | undefined {
  const whole = canonicalAddress(
    words
      .join("")
      .trim()
      .replace(/^'(.*)'$/s, "$1")
      .replace(/^([^[]*)\]$/, "$1"),
  );
  if (whole !== null) return { address: whole, others: [] };
  for (const [index, word] of [...words.entries()].reverse()) {
    if (word.startsWith('"') || word.startsWith("=?")) continue;
    for (const part of word.split(/\s+/).reverse()) {
      const address = part.includes("@")
        ? canonicalAddress(part.replace(/^[<'[.]*(?:mailto:)?|[>'\].]+$/gi, ""))
        : null;
      if (address !== null) return { address, others: words.toSpliced(index, 1, word.replace(part, " ")) };
    }
  }
  return undefined;
}

/** Joins the words to a name; uses the comments if there are no words. */
function nameOf(words: readonly string[], comments: readonly string[]): string {
  const plain = words.map((word) =>
    word.startsWith('"') ? word.slice(1).replace(/"$/, "").replace(/\\(.)/gs, "$1") : word,
  );
  const name = plain.join("").replace(/\s+/g, " ").trim();
  return decodeWords(name || comments.join(" ").trim());
}
