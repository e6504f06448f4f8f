import { LRUCache } from "lru-cache";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";
import { ownerOfAddress } from "./recipients.ts";

/** True if the address is an identity's of the workspace. */
export type OwnAddresses = (workspaceId: string, address: string) => Promise<boolean>;

/** Milliseconds for which it is cached whose a domain is, and the number of domains. */
const knownMs = 30_000;
const maxKnown = 10_000;

/** Looks up addresses of identities. Most senders' domains are nobody's here, which is cached; the answer decides nothing about sending. */
export function createOwnAddresses(deps: Dependencies): OwnAddresses {
  const owners = new LRUCache<string, { workspaceId: string | null }>({ max: maxKnown, ttl: knownMs });

  async function ownerOfDomain(domain: string): Promise<string | null> {
    const known = owners.get(domain);
    if (known) return known.workspaceId;
    const workspaceId = (await loadName(deps, domain)).verified?.workspaceId ?? null;
    owners.set(domain, { workspaceId });
    return workspaceId;
  }

  return async (workspaceId, address) => {
    const domain = domainOfAddress(address);
    if (domain === "") return false;
    const isShared = domain === deps.settings.sandboxDomain;
    if (!isShared && (await ownerOfDomain(domain)) !== workspaceId) return false;
    return (await ownerOfAddress(deps, address))?.workspaceId === workspaceId;
  };
}
