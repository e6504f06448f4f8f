import { checkRecords } from "#src/platform/dns/checkRecords.ts";
import { expectedRecords } from "#src/platform/dns/records.ts";
import { askingOnce, withinTime } from "#src/platform/dns/resolver.ts";
import { dnsSetupFactsOf } from "#src/platform/dns/setupFacts.ts";
import { spfJudge } from "#src/platform/dns/spf/judgeSpf.ts";
import { Rejected } from "#streams/decider.ts";
import type { Domain } from "#streams/domain/domain.ts";
import { type DomainRecord, domainRecords } from "#streams/domain/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { checkDmarc } from "./checkDmarc.ts";
import { type NamesOfDomain, nameId, namesOf } from "./domainNames.ts";
import { checkAtProvider, enableReceiving, type RecordFindings, registrationOrFault } from "./providerDomains.ts";

/** Limits for all look-ups of one check: milliseconds, and their number. */
const checkMs = 20_000;
const maxLookups = 500;

/**
 * Looks up a domain's DNS records and records the result, once per attempt. A mail provider that supplies some of the records checks them
 * too, and receives the domain's mail before the domain counts as verified. `onOwnFault`: called if receivers refuse even the SPF record that
 * the domain should have. Returns the domain's new state.
 */
export async function checkDomain(
  deps: Dependencies,
  { domainId, onOwnFault }: { domainId: string; onOwnFault?: (reason: string) => void },
  cause: Cause,
): Promise<Domain> {
  const { state } = await deps.domains.load(domainId);
  if (!state.exists || state.deleted) return state;
  const { domain, trouble } = await registrationOrFault(deps, { domainId, domain: state }, cause);
  const end = deps.clock.monotonic() + checkMs;
  const limited = withinTime(deps.resolver, () => end - deps.clock.monotonic());
  const resolver = askingOnce(limited, maxLookups);
  const { inboundMxHost, spfAddresses: addresses } = deps.settings;
  const turn = domain.workspaceId;
  const judgeSpf = spfJudge({ resolver, evaluate: deps.evaluateSpf, addresses, helo: inboundMxHost, turn, onOwnFault });
  const [inDns, dmarc, surroundings] = await Promise.all([
    checkRecords({ resolver, judgeSpf }, expectedRecords(domain, deps.settings)),
    checkDmarc(resolver, domain.mailDomain),
    dnsSetupFactsOf(resolver, domain, inboundMxHost),
  ]);
  const judged = await checkAtProvider(deps, { domainId, domain, found: inDns, trouble }, cause);
  const claimed = judged.heldBack
    ? judged
    : { ...judged, found: await withClaim(deps, { domainId, domain, found: judged.found }, cause) };
  const { found: records, heldBack } = await enableReceiving(deps, domain, claimed);
  const check = {
    attempt: domain.attempts + 1,
    at: deps.clock.now().toISOString(),
    records,
    advised: { dmarc },
    ...surroundings,
    ...(heldBack && { heldBack }),
  };
  const command = { type: "RecordCheck", check } as const;
  return (await deps.domains.handle(domainId, command, cause)).state;
}

/**
 * Claims a domain's names before the domain is verified. If two workspaces have all records in place, only one gets the names, and the
 * other's check fails. A claim left by a crash is used by the next check, or released when the domain is deleted.
 */
async function withClaim(
  deps: Dependencies,
  { domainId, domain, found }: { domainId: string; domain: Domain; found: RecordFindings },
  cause: Cause,
): Promise<RecordFindings> {
  const stands = (record: DomainRecord) =>
    found[record].status === "temporary_failure"
      ? domain.records[record] === "verified"
      : found[record].status === "verified";
  if (domain.status === "verified" || !domainRecords.every(stands)) return found;
  const { workspaceId, mailDomain } = domain;
  try {
    for (const name of namesOf(domain)) {
      const claim = { type: "ClaimName", domainId, workspaceId, receives: name === mailDomain } as const;
      await deps.domainNames.handle(nameId(name), claim, cause);
    }
    return found;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    await releaseLostNames(deps, { domainId, names: domain }, cause);
    return { ...found, ownership: { status: "failed", reason: error.message } };
  }
}

/** Releases a lost domain's verified names: other workspaces may prove them from now on. */
export async function releaseLostNames(
  deps: Dependencies,
  { domainId, names }: NamesOfDomain,
  cause: Cause,
): Promise<void> {
  for (const name of namesOf(names)) {
    await deps.domainNames.handle(nameId(name), { type: "LoseName", domainId }, cause);
  }
}
