import type { MessageRow } from "#projections/messages/queries.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";
import { invalid } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { Dependencies } from "./dependencies.ts";

export type GivenAttachment = { filename: string; contentType: string; bytes: Buffer };

/** Puts attachments into the blob store, and names them as a draft's content does. */
export const storeAttachments = (
  deps: Pick<Dependencies, "blobs">,
  attachments: readonly GivenAttachment[],
): Promise<DraftContent["attachments"]> =>
  Promise.all(
    attachments.map(async ({ filename, contentType, bytes }) => ({
      filename,
      content_type: contentType,
      sha256: await deps.blobs.put(bytes),
    })),
  );

type OwnAddresses = { emailAddress: string; replyToEmail: string | null };
type Answered = Pick<MessageRow, "reply_to" | "from_email" | "rfc_message_id" | "reference_ids">;

/**
 * To whom an answer goes (Reply-To, else From), and what its headers say of what it answers. A Reply-To that names the identity itself would
 * have it answer itself for ever: it is passed over. Throws Rejected where nobody can be answered.
 */
export function answerOf(
  message: Answered,
  identity: OwnAddresses,
): Pick<DraftContent, "to" | "in_reply_to" | "references"> {
  const named = message.reply_to.filter((address) => !isOwn(address, identity));
  const to = named.length > 0 ? named : [message.from_email].filter((address) => address !== "");
  if (to.length === 0) {
    throw invalid("based_on_message_id", "that message has no sender to answer");
  }
  const headers = answerHeaders({ messageId: message.rfc_message_id ?? "", references: message.reference_ids });
  return { to: distinct(to), ...headers };
}

/**
 * Everybody a message involves, the identity's own addresses excepted (decisions 6): whom it came from in `to`, its other recipients in
 * `cc`, but nobody whom the caller names already.
 */
export function everybodyOf(
  message: Pick<MessageRow, "to_emails" | "cc_emails">,
  { to: senders }: Pick<DraftContent, "to">,
  named: { cc: readonly string[]; bcc: readonly string[] },
  identity: OwnAddresses,
): Pick<DraftContent, "to" | "cc"> {
  const others = senders.filter((address) => !isOwn(address, identity));
  const to = others.length > 0 ? others : senders;
  const taken = [...to, ...named.cc, ...named.bcc].map((address) => address.toLowerCase());
  const derived = distinct([...message.to_emails, ...message.cc_emails]).filter(
    (address) => !isOwn(address, identity) && !taken.includes(address.toLowerCase()),
  );
  return { to, cc: [...named.cc, ...derived] };
}

/** Mail to name+anything@ is name@'s too. */
function isOwn(address: string, identity: OwnAddresses): boolean {
  const folded = address.toLowerCase();
  const own = [identity.emailAddress, identity.replyToEmail?.toLowerCase()];
  return own.includes(folded) || folded.replace(/\+[^@]*@/, "@") === identity.emailAddress;
}

/** What a draft says of itself where the message it answers is a machine's. */
export function machineAddresses(
  message: Pick<MessageRow, "classification">,
  to: readonly string[],
): { machineAddresses?: string[] } {
  const isMachine = message.classification === "auto_reply" || message.classification === "bounce";
  return isMachine ? { machineAddresses: to.map((address) => address.toLowerCase()) } : {};
}

const distinct = (addresses: readonly string[]): string[] =>
  addresses.filter(
    (address, index) => addresses.findIndex((other) => other.toLowerCase() === address.toLowerCase()) === index,
  );
