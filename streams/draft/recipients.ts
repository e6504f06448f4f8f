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
 * From. Mail of the identity that came back with other words is answered to the one to whom it was sent. Several addresses would let the
 * mail's sender direct the answer to strangers. Throws Rejected if there is no recipient.
 */
export function recipientsOfReply(message: Omit<MessageAddresses, "cc_emails">, identity: OwnAddresses): string[] {
  const named = isFromIdentity(message, identity)
    ? everybodyElse({ ...message, cc_emails: [] }, identity)
    : repliesGoTo(message, identity);
  const to = named.length === 1 ? named : [message.from_email].filter((address) => address !== "");
  if (to.length === 0) throw invalidRequest("based_on_message_id", "this message has no sender to reply to");
  return to;
}

const isFromIdentity = (
  { from_email }: Pick<MessageAddresses, "from_email">,
  { emailAddress }: OwnAddresses,
): boolean => withoutTag(folded(from_email)) === emailAddress;

/** Returns the addresses in Reply-To, each once, without the identity's own. */
const repliesGoTo = (message: Pick<MessageAddresses, "reply_to">, identity: OwnAddresses): string[] =>
  distinct(message.reply_to).filter((address) => !isOwn(address, identity));

/** Addresses of a message that a reply to all may leave out: they belong to the workspace, or forwarded the mail here. In lower case. */
export type LeftOut = { hosted: readonly string[]; forwarders: readonly string[] };

/** The cc of a reply to all. `leftOut`: addresses of the message that are not in it although they are not the identity's own. */
export type CopiesToEverybody = { cc: string[]; leftOut: { hosted: string[]; forwarders: string[] } };

/**
 * Returns the cc of a reply to all: the addresses given by the caller, then the others of Reply-To, To and Cc, without the identity's own
 * addresses, without other recipients, and without those to be left out. An address that forwarded the mail is kept if the mail names it as
 * its sender.
 */
export function copiesToEverybody(
  message: MessageAddresses,
  { to, cc, bcc }: { to: readonly string[]; cc: readonly string[]; bcc: readonly string[] },
  { identity, leftOut }: { identity: OwnAddresses; leftOut: LeftOut },
): CopiesToEverybody {
  const taken = [...to, ...cc, ...bcc].map(folded);
  const senders = [message.from_email, ...message.reply_to].map(folded);
  const others = everybodyElse(message, identity).filter((address) => !taken.includes(folded(address)));
  const isHosted = (address: string): boolean => leftOut.hosted.includes(folded(address));
  const isForwarder = (address: string): boolean =>
    leftOut.forwarders.includes(folded(address)) && !senders.includes(folded(address));
  return {
    cc: [...cc, ...others.filter((address) => !isHosted(address) && !isForwarder(address))],
    leftOut: {
      hosted: others.filter(isHosted),
      forwarders: others.filter((address) => isForwarder(address) && !isHosted(address)),
    },
  };
}

/** Returns the addresses in Reply-To, To and Cc, each once, without the identity's own. */
export const everybodyElse = (
  { reply_to, to_emails, cc_emails }: Omit<MessageAddresses, "from_email">,
  identity: OwnAddresses,
): string[] => distinct([...reply_to, ...to_emails, ...cc_emails]).filter((address) => !isOwn(address, identity));

const folded = (address: string): string => address.toLowerCase();

/**
 * Refuses mail of an identity to itself: it would come back, and be a customer's mail that nobody wrote. `toField`: name of the field that
 * determines `to`. Throws Rejected invalid_request, naming the field.
 */
export function requireOtherRecipients(
  content: Pick<DraftContent, "to" | "cc" | "bcc">,
  { emailAddress }: Pick<OwnAddresses, "emailAddress">,
  toField = "to",
): void {
  for (const field of ["to", "cc", "bcc"] as const) {
    const own = content[field].find(
      (address) => withoutTag(folded(address)) === emailAddress || folded(address) === emailAddress,
    );
    if (own === undefined) continue;
    const why = `${own} is the identity's own address, and a mail to it would come back as received mail`;
    const isDerived = field === "to" && toField !== "to";
    throw invalidRequest(
      field === "to" ? toField : field,
      isDerived
        ? `an answer goes to its sender: ${why}; write to a person as new mail`
        : `${why}: name other recipients`,
    );
  }
}

function isOwn(address: string, identity: OwnAddresses): boolean {
  const own = [identity.emailAddress, identity.replyToEmail?.toLowerCase()];
  return own.includes(folded(address)) || withoutTag(folded(address)) === identity.emailAddress;
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
