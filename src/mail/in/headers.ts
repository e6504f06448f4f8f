import { createHash } from "node:crypto";
import { addressParser, decodeWords } from "postal-mime";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { reportedIds } from "./bounces.ts";
import { classify, classifyingFields } from "./classify.ts";
import { type HeaderFields, readHeaderFields } from "./headerFields.ts";
import { parseMailDate } from "./mailDate.ts";
import { boundedIds, derivedMessageId, messageIdsIn, ownMessageId } from "./messageIds.ts";
import { storableLine } from "./storable.ts";

const names = new Set([
  ...classifyingFields,
  "cc",
  "date",
  "in-reply-to",
  "message-id",
  "references",
  "reply-to",
  "to",
]);

const maxSubjectLength = 998;
const maxNameLength = 256;
const maxAddresses = 100;
const maxAddressBytes = 320;
const address = /^[^\s@<>,;:"()]{1,64}@[^\s@<>,;:"()]{1,255}$/;

/**
 * What a mail says about itself, read from any bytes at all: synchronous, bounded in time and size, never throws.
 * A parser may differ on what is broken; the threading, the sender and "the same message again" rest on this reading alone.
 * `envelopeFrom` is "" for the null sender, which only machines use.
 */
export function readHeaders(raw: Buffer, envelopeFrom?: string): MailHeaders {
  const fields = readHeaderFields(raw, names);
  const ownId = ownMessageId(fields.first("message-id"));
  const references = boundedIds(messageIdsIn(fields.first("references")));
  const inReplyTo = messageIdsIn(fields.first("in-reply-to")).at(-1) ?? null;
  const classification = classify(fields, envelopeFrom);
  const isReport = classification === "bounce" || classification === "auto_reply";
  const rawSha256 = ownId ? undefined : createHash("sha256").update(raw).digest("hex");
  return {
    messageId: ownId ?? derivedMessageId(rawSha256!),
    messageIdDerived: !ownId,
    // Old clients put a person's address before the id into In-Reply-To: its last <…> is the id.
    threadIds: references.length > 0 ? references : inReplyTo ? [inReplyTo] : [],
    inReplyTo,
    references,
    from: sender(fields.first("from")),
    fromCount: fields.count("from"),
    // A second Reply-To field is a forger's way in: it counts like a second address.
    replyTo: addresses(...fields.all("reply-to")),
    to: addresses(fields.first("to")),
    cc: addresses(fields.first("cc")),
    subject: storableLine(decodeWords(fields.first("subject")), maxSubjectLength),
    date: parseMailDate(fields.first("date")),
    classification,
    contentDigest: rawSha256 ?? contentDigest(fields),
    reportedMessageIds: isReport ? reportedIds(fields) : [],
  };
}

type Mailbox = { name: string; address: string };

const mailboxes = (value: string): Mailbox[] =>
  (addressParser(value, { flatten: true }) as Mailbox[]).filter(
    (mailbox) => address.test(mailbox.address) && Buffer.byteLength(mailbox.address) <= maxAddressBytes,
  );

const addresses = (...values: string[]): string[] =>
  [...new Set(values.flatMap(mailboxes).map((mailbox) => storableLine(mailbox.address, 320)))].slice(0, maxAddresses);

function sender(value: string): Mailbox | null {
  const first = mailboxes(value)[0];
  return first ? { name: storableLine(first.name, maxNameLength), address: storableLine(first.address, 320) } : null;
}

/** Trace headers may differ between two deliveries of the same message; these and the body may not. */
function contentDigest(fields: HeaderFields): string {
  const told = ["date", "from", "subject"].map((name) => fields.all(name));
  return createHash("sha256").update(JSON.stringify(told)).update(fields.body).digest("hex");
}
