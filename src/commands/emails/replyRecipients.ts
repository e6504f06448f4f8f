import { addressesOfWorkspace } from "#projections/identities/queries.ts";
import {
  type CopiesToEverybody,
  copiesToEverybody,
  everybodyElse,
  type LeftOut,
  recipientsOfReply,
} from "#streams/draft/recipients.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** A message to be answered, and the identity that answers. */
type Answering = {
  mail: Pick<InboundMessage, "from" | "replyTo" | "to" | "cc" | "forwardedFrom">;
  identity: Pick<Identity, "workspaceId" | "emailAddress" | "replyToEmail" | "aliases">;
};

const namesOf = ({ from, replyTo, to, cc }: Answering["mail"]) => ({
  from_email: from?.address ?? "",
  reply_to: replyTo,
  to_emails: to,
  cc_emails: cc,
});

/** Returns the recipient of a reply. Throws Rejected invalid_request if the message names none. */
export const replyTo = ({ mail, identity }: Answering): string[] => recipientsOfReply(namesOf(mail), identity);

/**
 * Returns the cc of a reply to all. It leaves out every address of the workspace, whose agent would take the reply for a customer's mail,
 * and the addresses that forwarded the mail here, from which the reply would come back.
 */
export async function replyToAll(
  deps: Pick<Dependencies, "reads">,
  { mail, identity }: Answering,
  given: { to: readonly string[]; cc: readonly string[]; bcc: readonly string[] },
): Promise<CopiesToEverybody> {
  const names = namesOf(mail);
  const hosted = await hostedAmong(deps, identity.workspaceId, everybodyElse(names, identity));
  const forwarders = [...(mail.forwardedFrom ?? []), ...identity.aliases.map((alias) => alias.toLowerCase())];
  return copiesToEverybody(names, given, { identity, leftOut: { hosted, forwarders } satisfies LeftOut });
}

/** Returns those of the addresses, in lower case, whose mail an identity of the workspace receives, with a +tag or without. */
async function hostedAmong(
  { reads }: Pick<Dependencies, "reads">,
  workspaceId: string,
  addresses: readonly string[],
): Promise<string[]> {
  const folded = addresses.map((address) => address.toLowerCase());
  if (folded.length === 0) return [];
  const known = new Set(await addressesOfWorkspace(reads, workspaceId, [...folded, ...folded.map(withoutTag)]));
  return folded.filter((address) => known.has(address) || known.has(withoutTag(address)));
}

/** Sentences about the addresses that a reply to all left out. */
export const leftOutWarnings = ({ hosted, forwarders }: CopiesToEverybody["leftOut"]): string[] => [
  ...(hosted.length === 0
    ? []
    : [`The reply to all leaves out ${hosted.join(", ")}: mail to it arrives in this workspace.`]),
  ...(forwarders.length === 0
    ? []
    : [`The reply to all leaves out ${forwarders.join(", ")}: the message was forwarded here from it.`]),
];
