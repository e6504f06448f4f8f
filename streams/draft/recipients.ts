import { invalidRequest } from "../decider.ts";
import { sendableAddress } from "../emailAddress/addrSpec.ts";
import { withoutTag } from "../emailAddress/untagged.ts";
import type { DraftContent } from "./content.ts";

type OwnAddresses = { emailAddress: string; replyToEmail: string | null };

/** Addresses in a message, in the names of the contract. */
type MessageAddresses = {
  from_email: string;
  reply_to: readonly string[];
  to_emails: readonly string[];
  cc_emails: readonly string[];
};

/**
 * Returns the recipients of a reply: the message's Reply-To if it contains exactly one address other than the identity's own, else its
 * From. Several addresses in Reply-To would let its sender direct the answer to strangers. Throws Rejected if there is no recipient.
 */
export function recipientsOfReply(
  message: Pick<MessageAddresses, "from_email" | "reply_to">,
  identity: OwnAddresses,
): string[] {
  const named = repliesGoTo(message, identity);
  const to = named.length === 1 ? named : [message.from_email].filter((address) => address !== "");
  if (to.length === 0) throw invalidRequest("based_on_message_id", "this message has no sender to reply to");
  return to;
}

/** Returns the addresses in Reply-To, each once, without the identity's own. */
const repliesGoTo = (message: Pick<MessageAddresses, "reply_to">, identity: OwnAddresses): string[] =>
  distinct(message.reply_to).filter((address) => !isOwn(address, identity));

/**
 * Returns the cc of a reply to all: the addresses given by the caller, then the others of Reply-To, To and Cc, without the identity's own
 * addresses and without other recipients.
 */
export function copiesToEverybody(
  message: Pick<MessageAddresses, "reply_to" | "to_emails" | "cc_emails">,
  { to, cc, bcc }: { to: readonly string[]; cc: readonly string[]; bcc: readonly string[] },
  identity: OwnAddresses,
): string[] {
  const taken = [...to, ...cc, ...bcc].map((address) => address.toLowerCase());
  const others = distinct([...message.reply_to, ...message.to_emails, ...message.cc_emails]).filter(
    (address) => !isOwn(address, identity) && !taken.includes(address.toLowerCase()),
  );
  return [...cc, ...others];
}

function isOwn(address: string, identity: OwnAddresses): boolean {
  const folded = address.toLowerCase();
  const own = [identity.emailAddress, identity.replyToEmail?.toLowerCase()];
  return own.includes(folded) || withoutTag(folded) === identity.emailAddress;
}

/** Maximum number of cc recipients, the same as in a request. */
const maxCopies = 50;

/** Refuses a reply to all of a message with very many recipients. Throws Rejected invalid_request. */
export function requireFewCopies({ cc }: Pick<DraftContent, "cc">): void {
  if (cc.length <= maxCopies) return;
  throw invalidRequest(
    "reply_all",
    `this message has more than ${maxCopies} other recipients: list the ones you want in cc`,
  );
}

/**
 * Requires that each address can be sent to, and none occurs twice across to, cc and bcc, whatever its case: providers refuse that. Mail is
 * read with more forms of addresses than it can be sent to. Throws Rejected invalid_request.
 */
export function requireUsableRecipients(content: Pick<DraftContent, "to" | "cc" | "bcc">): void {
  const seen = new Set<string>();
  for (const field of ["to", "cc", "bcc"] as const) {
    for (const address of content[field]) {
      if (sendableAddress(address) === null)
        throw invalidRequest(field, `no mail can be sent to ${address}: it is not a valid address`);
      const folded = address.toLowerCase();
      if (seen.has(folded)) {
        throw invalidRequest(field, `${address} is already a recipient: list each address once across to, cc and bcc`);
      }
      seen.add(folded);
    }
  }
}

const distinct = (addresses: readonly string[]): string[] =>
  addresses.filter(
    (address, index) => addresses.findIndex((other) => other.toLowerCase() === address.toLowerCase()) === index,
  );
