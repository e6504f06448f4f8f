import { LRUCache } from "lru-cache";
import type { Reception, Recipient } from "#src/mail/in/reception.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import { fold } from "#streams/decider.ts";
import { canonicalAddress } from "#streams/emailAddress/addrSpec.ts";
import { emailAddressDecider } from "#streams/emailAddress/decider.ts";
import { type EmailAddressEvent, emailAddressStream } from "#streams/emailAddress/events.ts";
import { withoutTag } from "#streams/emailAddress/untagged.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";
import { addressHash } from "../identities/addresses.ts";

/** Milliseconds for which a found address is cached. */
const knownMs = 30_000;
/** Maximum number of addresses in the cache, because any sender can invent tags. */
const maxKnown = 10_000;

/**
 * Resolves an envelope address, ignoring case: first the exact address, then the address without its +tag. Reads streams, because a read
 * model may lag behind. Caches only addresses that were found, so that a new address works at once.
 */
export function createRecipients(deps: Dependencies): Reception["resolve"] {
  const known = new LRUCache<string, { recipient: Recipient; until: number }>({ max: maxKnown });

  return async (address, { anew = false } = {}) => {
    const exact = (canonicalAddress(address) ?? address).toLowerCase();
    if (exact === deps.settings.approvalsFrom.toLowerCase()) return { kind: "approvals" };
    const now = deps.clock.now().getTime();
    const remembered = anew ? undefined : known.get(exact);
    if (remembered && remembered.until > now) return remembered.recipient;
    const recipient = (await ownerOfAddress(deps, exact)) ?? (await postmasterOf(deps, exact));
    if (recipient) known.set(exact, { recipient, until: now + knownMs });
    else known.delete(exact);
    return recipient;
  };
}

type Owner = Extract<Recipient, { kind: "identity" }>;

/** Returns the active identity that mail to this address reaches: exactly this one, else the one without the +tag. Ignores case. */
export async function ownerOfAddress(deps: Dependencies, address: string): Promise<Owner | undefined> {
  const exact = (canonicalAddress(address) ?? address).toLowerCase();
  const untagged = withoutTag(exact);
  return (await ownerOf(deps, exact)) ?? (untagged === exact ? undefined : ownerOf(deps, untagged));
}

/**
 * Resolves `postmaster` to the operator, with or without a domain whose mail arrives here (RFC 5321, 4.5.1), unless an identity has that
 * address.
 */
async function postmasterOf(deps: Dependencies, address: string): Promise<Recipient | undefined> {
  const [, domain] = /^postmaster(?:@(.+))?$/.exec(address) ?? [address, null];
  if (domain === null) return undefined;
  const { sandboxDomain, approvalsFrom } = deps.settings;
  const isOurs = domain === undefined || domain === sandboxDomain || domain === domainOfAddress(approvalsFrom);
  return isOurs || (await loadName(deps, domain)).verified !== null ? { kind: "postmaster" } : undefined;
}

/** Returns the active identity with exactly this address. */
async function ownerOf(deps: Dependencies, address: string): Promise<Owner | undefined> {
  const identityId = await holderOf(deps, address);
  if (identityId === null) return undefined;
  const { state } = await deps.identities.load(identityId);
  const { exists, deleted, workspaceId } = state;
  if (!exists || deleted || (await isDisplaced(deps, address, workspaceId))) return undefined;
  return { kind: "identity", identityId, workspaceId };
}

/**
 * Returns the identity that owns an address, from the last event of the address's stream. Does not use the state cache, because senders may
 * name any number of addresses, and unknown ones would evict states that are needed.
 */
async function holderOf({ store }: Dependencies, address: string): Promise<string | null> {
  const last = await store.readLast(emailAddressStream(addressHash(address)));
  return fold(emailAddressDecider, last ? [last as Recorded<EmailAddressEvent>] : []).identityId;
}

/** True if the address's domain now belongs to another workspace: earlier identities on it no longer receive mail. */
async function isDisplaced(deps: Dependencies, address: string, workspaceId: string): Promise<boolean> {
  const domain = domainOfAddress(address);
  if (domain === deps.settings.sandboxDomain) return false;
  const { verified } = await loadName(deps, domain);
  return verified !== null && verified.workspaceId !== workspaceId;
}
