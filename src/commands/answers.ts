import type { MessageRow } from "#projections/messages/queries.ts";
import { answerHeaders } from "#src/mail/out/threadHeaders.ts";
import { invalid } from "#streams/decider.ts";
import type { DraftContent } from "#streams/draft/content.ts";

type OwnAddresses = { emailAddress: string; replyToEmail: string | null };
type Answered = Pick<MessageRow, "reply_to" | "from_email" | "rfc_message_id" | "reference_ids">;

/**
 * To whom an answer goes, and what its headers say of what it answers: the message's Reply-To where that names exactly one address other than
 * the identity's own, else its From. Several addresses in Reply-To would let its sender have the answer sent to strangers. Throws Rejected
 * where nobody can be answered.
 */
export function answerOf(
  message: Answered,
  identity: OwnAddresses,
): Pick<DraftContent, "to" | "in_reply_to" | "references"> {
  const named = repliesGoTo(message, identity);
  const to = named.length === 1 ? named : [message.from_email].filter((address) => address !== "");
  if (to.length === 0) {
    throw invalid("based_on_message_id", "that message has no sender to answer");
  }
  const headers = answerHeaders({ messageId: message.rfc_message_id ?? "", references: message.reference_ids });
  return { to, ...headers };
}

/** The addresses that Reply-To names, each once, without the identity's own. */
const repliesGoTo = (message: Pick<MessageRow, "reply_to">, identity: OwnAddresses): string[] =>
  distinct(message.reply_to).filter((address) => !isOwn(address, identity));

/**
 * The copies of an answer to everybody whom a message involves: those the caller names, then the others of Reply-To, To and Cc, without the
 * identity's own addresses and without anybody who gets it already.
 */
export function copiesToEverybody(
  message: Pick<MessageRow, "reply_to" | "to_emails" | "cc_emails">,
  { to }: Pick<DraftContent, "to">,
  named: { cc: readonly string[]; bcc: readonly string[] },
  identity: OwnAddresses,
): string[] {
  const taken = [...to, ...named.cc, ...named.bcc].map((address) => address.toLowerCase());
  const others = distinct([...message.reply_to, ...message.to_emails, ...message.cc_emails]).filter(
    (address) => !isOwn(address, identity) && !taken.includes(address.toLowerCase()),
  );
  return [...named.cc, ...others];
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
