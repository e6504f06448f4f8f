import { canonicalAddress } from "#streams/emailAddress/addrSpec.ts";
import { decodeWords } from "./mime/encodedWords.ts";

export type Mailbox = { name: string; address: string };

/** A quoted string, an encoded word, an address in angle brackets, a comment, a separator, or what is none of these. */
const tokens =
  /"(?:[^"\\]|\\.)*(?:"|\\?$)|=\?[^?\s]{1,100}\?[qb]\?[^?]*\?=|<(?:"(?:[^"\\]|\\.)*"|[^<>"])*>?|\([^()]*\)|[,;:]|[^"<(,;:=]+|[(=]/gis;

/** Words that are read of a name with commas and without quotes. */
const maxNameWords = 20;

/** The tokens between two separators, as they came. */
type Item = { words: string[]; comments: string[]; angle: string | null };

/**
 * The mailboxes of a field with addresses, in their order; members of groups are among them. Reads what people and machines write: names with
 * commas and without quotes, `<mailto:…>`, an address alone. An address is never taken out of a quoted name, nor out of an encoded one.
 */
export function readAddresses(value: string): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  /** Words before commas that may be the first parts of a name, with the commas. */
  let open: string[] = [];
  let item: Item = { words: [], comments: [], angle: null };

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
      // The name of a group, unless it is part of an address.
      if (item.angle === null) item.words = [];
    } else if (token.startsWith("<")) {
      // An empty one, of two brackets in a row, is none.
      if (item.angle === null || item.angle === "<") item.angle = token;
    } else if (token.startsWith("(") && token.length > 1) item.comments.push(token.slice(1, -1));
    else item.words.push(token);
  }
  close("");
  return mailboxes;
}

function mailboxOf({ words, comments, angle }: Item, before: readonly string[]): Mailbox | undefined {
  if (angle !== null) {
    const address = inAngles(angle);
    return address === null ? undefined : { name: nameOf([...before, ...words], comments), address };
  }
  const bare = bareAddress(words);
  return bare && { name: nameOf(bare.others, comments), address: bare.address };
}

/** Without what programs put around an address: a scheme, a route, blanks, a second bracket; of a link to write a mail the address alone. */
function inAngles(angle: string): string | null {
  const inside = angle.replace(/^<[<\s]*/, "").replace(/[\s>]*$/, "");
  const link = /^mailto:([^?]*)/i.exec(inside)?.[1];
  return canonicalAddress((link?.replace(/%40/g, "@") ?? inside).trim().replace(/^@[^:"]*:/, ""));
}

/** An address without brackets: a quoted local part with what follows it, or the last unquoted word with an at sign. */
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

/** The words as a name; those in brackets where there is none. */
function nameOf(words: readonly string[], comments: readonly string[]): string {
  const plain = words.map((word) =>
    word.startsWith('"') ? word.slice(1).replace(/"$/, "").replace(/\\(.)/gs, "$1") : word,
  );
  const name = plain.join("").replace(/\s+/g, " ").trim();
  return decodeWords(name || comments.join(" ").trim());
}
