import { createHash } from "node:crypto";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { type Mailbox, readAddresses } from "./addressList.ts";
import { isComplaint, reportedIds, reportedReferences, reportType } from "./bounces.ts";
import { classify, classifyingFields } from "./classify.ts";
import { forwardedFrom, forwardingFields } from "./forwarding.ts";
import { readHeaderFields } from "./headerFields.ts";
import { parseMailDate } from "./mailDate.ts";
import { boundedIds, derivedMessageId, type IsOwnId, namedIdsIn, ownMessageId, threadIdsOf } from "./messageIds.ts";
import { decodeWords } from "./mime/encodedWords.ts";
import { reactionFields, reactionForm } from "./reactions.ts";
import { reportedRecipients } from "./reportedRecipients.ts";
import { storableLine } from "./storable.ts";

const names = new Set([
  ...classifyingFields,
  ...forwardingFields,
  ...reactionFields,
  "cc",
  "date",
  "in-reply-to",
  "message-id",
  "references",
  "reply-to",
  "to",
]);

const maxSubjectLength = 998;
const maxSubjectBytes = 16 * 1024;
const maxNameLength = 256;
/** Limits of an address field, over all its occurrences: characters of its raw value, and bytes of what is stored. */
const maxAddressField = 32 * 1024;
const maxAddresses = 200;
const maxAddressBytes = 320;

/** The facts of a mail's header, before its digest is known. */
export type MailStart = {
  headers: Omit<MailHeaders, "messageId" | "messageIdDerived" | "contentDigest">;
  /** The mail's own Message-ID, if it has a usable one. */
  ownId: string | undefined;
  /** The header values that have to be equal for two mails to count as the same message. */
  told: string;
  body: Buffer;
};

/**
 * Reads a mail's header facts from any bytes: synchronous, bounded in time and size, never throws. Parsers may differ on broken mail;
 * threading, the sender and duplicate detection rest on this reading alone. `envelopeFrom` is "" for the null sender, which only machines
 * use. `isOwn` tells this service's Message-IDs, for clients that leave out the brackets.
 */
export function readHeaders(raw: Buffer, envelopeFrom?: string, isOwn?: IsOwnId): MailHeaders {
  const rawSha256 = createHash("sha256").update(raw).digest("hex");
  const start = readMailStart(raw, envelopeFrom, isOwn);
  const digest = createHash("sha256").update(start.told).update(start.body).digest("hex");
  return withDigest(start, { rawSha256, digest });
}

/**
 * Adds `digest`: the sha256 of the header values and the body. A mail without its own id is a duplicate only if all its bytes are equal.
 */
export const withDigest = (
  { headers, ownId }: MailStart,
  { rawSha256, digest }: { rawSha256: string; digest: string },
): MailHeaders => ({
  ...headers,
  messageId: ownId ?? derivedMessageId(rawSha256),
  messageIdDerived: !ownId,
  contentDigest: ownId ? digest : rawSha256,
});

/**
 * Reads a mail's header and, from its body, what a delivery report says. Bounded by sizes, never by time: the same bytes give the same
 * result on a busy machine.
 */
export function readMailStart(raw: Buffer, envelopeFrom?: string, isOwn?: IsOwnId): MailStart {
  const fields = readHeaderFields(raw, names);
  const references = boundedIds(namedIdsIn(fields.first("references"), isOwn));
  const inReplyTo = namedIdsIn(fields.first("in-reply-to"), isOwn).at(-1) ?? null;
  const { classification, ...signs } = classify(fields, envelopeFrom);
  const complains = isComplaint(fields);
  const mayReport = classification === "bounce" || classification === "auto_reply" || signs.automaticIfOurs === true;
  const isReport = classification === "bounce" || reportType(fields) !== undefined;
  const reported = isReport || complains ? reportedReferences(fields) : [];
  const recipients = isReport ? reportedRecipients(fields) : [];
  const [from, replyTo, to, cc] = [
    addressesIn("from", fields.first("from")),
    // A second Reply-To field is a forger's trick: it counts like a second address.
    addressesIn("reply-to", ...fields.all("reply-to")),
    addressesIn("to", fields.first("to")),
    addressesIn("cc", fields.first("cc")),
  ];
  const forwarded = forwardedFrom(fields);
  const mayReact = reactionForm(fields, raw.length);
  const cut = [from, replyTo, to, cc].flatMap(({ field, isCut }) => (isCut ? [field] : []));
  return {
    ownId: ownMessageId(fields.first("message-id")),
    told: JSON.stringify(["date", "from", "subject"].map((name) => fields.all(name))),
    body: fields.body,
    headers: {
      threadIds: threadIdsOf(fields, isOwn),
      inReplyTo,
      references,
      from: sender(from.mailboxes[0]),
      fromCount: fields.count("from"),
      replyTo: addressesOf(replyTo),
      to: addressesOf(to),
      cc: addressesOf(cc),
      subject: storableLine(decodeWords(fields.first("subject").slice(0, maxSubjectBytes)), maxSubjectLength),
      date: parseMailDate(fields.first("date")),
      classification,
      ...signs,
      ...(forwarded.length > 0 && { forwardedFrom: forwarded }),
      ...(mayReact && { mayReact }),
      reportedMessageIds: mayReport ? reportedIds(fields) : [],
      ...(isReport && { isReport: true as const }),
      ...(recipients.length > 0 && { reportedRecipients: recipients }),
      ...(complains && { isComplaint: true as const }),
      ...(reported.length > 0 && { reportedReferences: reported }),
      ...(cut.length > 0 && { cut }),
    },
  };
}

type AddressField = { field: string; mailboxes: Mailbox[]; isCut: boolean };

/** Returns the mailboxes of a field. If the field is too long, returns only the mailboxes in its first part. */
function addressesIn(field: string, ...values: string[]): AddressField {
  const mailboxes: Mailbox[] = [];
  let [left, room] = [maxAddressField, maxAddressField];
  for (const value of values) {
    const part = readablePart(value, left);
    left -= part.length;
    for (const mailbox of readAddresses(part)) {
      const bytes = Buffer.byteLength(mailbox.address);
      if (bytes > maxAddressBytes) continue;
      room -= bytes;
      if (mailboxes.length === maxAddresses || room < 0) return { field, mailboxes, isCut: true };
      mailboxes.push(mailbox);
    }
    if (part.length < value.length) return { field, mailboxes, isCut: true };
  }
  return { field, mailboxes, isCut: false };
}

/** Cuts the value at a comma outside quotes: half an address might be another address. */
function readablePart(value: string, maxLength: number): string {
  if (value.length <= maxLength) return value;
  let lastComma = 0;
  for (const { 0: found, index } of value.slice(0, maxLength).matchAll(quotedOrComma))
    if (found === ",") lastComma = index;
  return value.slice(0, lastComma);
}

const quotedOrComma = /"(?:[^"\\]|\\.)*(?:"|\\?$)|,/gs;

const addressesOf = ({ mailboxes }: AddressField): string[] => [
  ...new Set(mailboxes.map((mailbox) => storableLine(mailbox.address, maxAddressBytes))),
];

const sender = (first: Mailbox | undefined): Mailbox | null =>
  first
    ? { name: storableLine(first.name, maxNameLength), address: storableLine(first.address, maxAddressBytes) }
    : null;
