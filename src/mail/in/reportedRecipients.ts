import type { ReportedRecipient } from "#streams/inbox/events.ts";
import { readAddresses } from "./addressList.ts";
import { isRejection, reportText } from "./bounces.ts";
import type { HeaderFields } from "./headerFields.ts";
import { decodeWords } from "./mime/encodedWords.ts";
import { storableLine } from "./storable.ts";

/** Recipients that are kept of one report, at most, of how many that it names, and characters of a server's words about each. */
const maxRecipients = 20;
const maxBlocks = 200;
const maxWords = 500;
const maxCode = 40;

/** What an action of RFC 3464 says of its recipient. Others (relayed, expanded) say nothing of the mailbox. */
const statusByAction: Readonly<Record<string, ReportedRecipient["status"]>> = {
  failed: "bounced",
  delayed: "delayed",
  delivered: "delivered",
};

/** Matches a blank line. */
const betweenBlocks = /\r?\n[ \t]{0,20}(?:\r?\n|$)/;

/**
 * Returns what a report says of each recipient: a delivery report (RFC 3464), a rejection by the recipient's rules (RFC 8098), or a bounce
 * in a form of its own, which names recipients in its header or as `<address>:` in its text. [] for any other mail.
 */
export function reportedRecipients(fields: HeaderFields): ReportedRecipient[] {
  const text = reportText(fields);
  const blocks = text
    .split(betweenBlocks)
    .filter((block) => /^(?:final|original)-recipient:/im.test(block))
    .slice(0, maxBlocks);
  const rejection = isRejection(fields) ? { action: "failed", words: prose(text) } : undefined;
  const found = blocks.map((block) =>
    ofBlock(block, rejection ?? { action: fieldOf(block, "action"), words: fieldOf(block, "diagnostic-code") }),
  );
  const told = found.filter((recipient) => recipient !== undefined);
  return (told.length > 0 ? told : inProse(fields, text)).slice(0, maxRecipients);
}

function ofBlock(block: string, { action, words }: { action: string; words: string }): ReportedRecipient | undefined {
  const [original, final] = ["original-recipient", "final-recipient"].map((name) => addressIn(fieldOf(block, name)));
  const address = original ?? final;
  const status = statusByAction[action.toLowerCase().match(/^\w{1,20}/)?.[0] ?? ""];
  if (address === undefined || status === undefined) return undefined;
  return {
    address,
    ...(final !== undefined && final !== address && { final }),
    status,
    code: storableLine(/^[245]\.\d{1,3}\.\d{1,3}/.exec(fieldOf(block, "status"))?.[0] ?? "", maxCode) || null,
    text: wordsOf(words.replace(/^[\w-]{1,20};\s{0,20}/, "")),
  };
}

/** Returns the value of a field of a block, unfolded; "" if there is none. */
function fieldOf(block: string, name: string): string {
  const field =
    new RegExp(`^${name}:[ \\t]{0,20}([^\\r\\n]{0,2000}(?:\\r?\\n[ \\t][^\\r\\n]{0,2000}){0,20})`, "im").exec(
      block,
    )?.[1] ?? "";
  return field.replace(/\r?\n[ \t]+/g, " ").trim();
}

/** Returns the address of `rfc822; <address>`, in lower case. */
const addressIn = (value: string): string | undefined =>
  readAddresses(value.replace(/^[\w-]{1,20}\s{0,5};/, "").slice(0, 500))[0]?.address.toLowerCase();

/** Returns the beginning of the text of the first part, which people read. */
function prose(text: string): string {
  const [, part = ""] =
    /^content-type:\s{0,20}text\/plain[\s\S]{0,500}?\r?\n\r?\n([\s\S]{0,2000}?)(?:\r?\n--|$(?![\s\S]))/im.exec(text) ??
    [];
  return part;
}

/** Matches an address alone before a colon, and the words behind and below it. */
const beforeColon = /^<([^<>\s@]{1,64}@[^<>\s@]{1,255})>:[ \t]?([^\r\n]{0,500}(?:\r?\n[^\r\n<-][^\r\n]{0,500}){0,5})/gm;
/** Matches an address alone on a line, and the lines below it that are indented further. */
const aboveIndented =
  /^[ \t]{1,4}([^<>\s@]{1,64}@[^<>\s@]{1,255})[ \t]{0,5}((?:\r?\n[ \t]{3,20}[^\s][^\r\n]{0,500}){1,5})/gm;

/**
 * Bounces of qmail, Exim, Exchange and others: `X-Failed-Recipients`, or an address before a colon, with the server's words below it.
 * Exim's addresses count only if the field names them.
 */
function inProse(fields: HeaderFields, text: string): ReportedRecipient[] {
  const failed = readAddresses(fields.first("x-failed-recipients").slice(0, 5_000));
  const named = failed.map(({ address }) => address.toLowerCase());
  const wordsIn = (form: RegExp): [string, string][] =>
    [...text.slice(0, 20_000).matchAll(form)].map(([, address, below]) => [address!.toLowerCase(), below!]);
  const words = new Map([
    ...wordsIn(aboveIndented).filter(([address]) => named.includes(address)),
    ...wordsIn(beforeColon),
  ]);
  const addresses = [...new Set([...named, ...words.keys()])];
  return addresses.map((address) => {
    const said = words.get(address) ?? "";
    const code = /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(said)?.[0] ?? null;
    return { address, status: "bounced" as const, code, text: wordsOf(said) };
  });
}

/** Makes a server's words one line without control characters; null if there are none. */
const wordsOf = (words: string): string | null =>
  storableLine(decodeWords(Buffer.from(words, "latin1").toString("utf8")).replace(/\s+/g, " "), maxWords) || null;
