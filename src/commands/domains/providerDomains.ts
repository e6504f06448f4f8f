import { storableLine } from "#src/mail/in/storable.ts";
import { ProviderAway, ProviderRefused, type SendingDomains } from "#src/mail/out/sendingDomains.ts";
import { isProviders } from "#src/platform/dns/records.ts";
import type { Domain } from "#streams/domain/domain.ts";
import { type DomainRecord, domainRecords, type RecordFinding, type Registration } from "#streams/domain/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadName } from "./domainNames.ts";

/** What a mail provider has to do with a domain: it says which records it takes, looks at them itself, and brings the domain's mail in. */

export type Findings = Record<DomainRecord, RecordFinding>;

/** What a check found. `heldBack`: the domain is not to be verified by it. */
export type Judged = { found: Findings; heldBack: boolean };

const maxReasonLength = 300;

/** The domain at the provider, found or made there. Undefined without a provider; throws ProviderAway, ProviderRefused. */
export async function registrationOf(deps: Dependencies, mailDomain: string): Promise<Registration | undefined> {
  const { sendingDomains } = deps;
  if (!sendingDomains) return undefined;
  const { id, made, records } = await sendingDomains.register(mailDomain);
  return { provider: sendingDomains.provider, providerId: id, made, records };
}

/** The same for a domain that may be added without: its first check tries again. */
export const registrationIfAnswered = (deps: Dependencies, mailDomain: string): Promise<Registration | undefined> =>
  registrationOf(deps, mailDomain).catch((error) => {
    if (isOfProvider(error)) return undefined;
    throw error;
  });

/** The domain as the provider has it, registered where it was not yet; with why it could not be. */
export async function registered(
  deps: Dependencies,
  { domainId, domain }: { domainId: string; domain: Domain },
  cause: Cause,
): Promise<{ domain: Domain; trouble?: RecordFinding }> {
  const { sendingDomains } = deps;
  if (!sendingDomains || domain.registration?.provider === sendingDomains.provider) return { domain };
  try {
    return { domain: await registeredNow(deps, { domainId, domain }, cause) };
  } catch (error) {
    return { domain, trouble: findingOf(error) };
  }
}

async function registeredNow(
  deps: Dependencies,
  { domainId, domain }: { domainId: string; domain: Domain },
  cause: Cause,
): Promise<Domain> {
  const registration = (await registrationOf(deps, domain.mailDomain))!;
  const command = { type: "RegisterDomain", registration, at: deps.clock.now().toISOString() } as const;
  return (await deps.domains.handle(domainId, command, cause)).state;
}

type ToJudge = { domainId: string; domain: Domain; found: Findings; trouble: RecordFinding | undefined };

/** Has the provider look at its records, once DNS has all of them. A domain that it has lost is registered again, for the next check. */
export async function judgedByProvider(
  deps: Dependencies,
  { domainId, domain, found, trouble }: ToJudge,
  cause: Cause,
): Promise<Judged> {
  const { sendingDomains } = deps;
  const { registration } = domain;
  if (!sendingDomains) return { found, heldBack: false };
  if (trouble || !registration) return { found: withProviders(found, trouble), heldBack: true };
  if (!domainRecords.every((record) => found[record].status === "verified")) return { found, heldBack: false };
  try {
    const faults = await sendingDomains.validate(registration.providerId);
    if (faults === "unknown") {
      await registeredNow(deps, { domainId, domain }, cause);
      return { found: withProviders(found, lostThere(sendingDomains)), heldBack: true };
    }
    const judged = { ...found };
    for (const { record, reason } of faults)
      judged[record] = { status: "failed", reason: shown(sendingDomains, reason) };
    return { found: judged, heldBack: false };
  } catch (error) {
    return { found: withProviders(found, findingOf(error)), heldBack: true };
  }
}

/** Sees to it that the provider brings the mail of a domain that is about to be verified, or is. What is in the way shows at the MX record. */
export async function withMailLetIn(
  { sendingDomains }: Dependencies,
  { mailDomain }: Pick<Domain, "mailDomain">,
  judged: Judged,
): Promise<Judged> {
  const { found, heldBack } = judged;
  const isReady = !heldBack && domainRecords.every((record) => found[record].status === "verified");
  if (!sendingDomains || !isReady) return judged;
  try {
    await sendingDomains.receive(mailDomain);
    return judged;
  } catch (error) {
    const { reason } = findingOf(error);
    return { found: { ...found, mx: { status: "temporary_failure", reason } }, heldBack: true };
  }
}

/**
 * Takes a deleted domain from the provider, before its names are given back: the next workspace that proves them has the provider's settings to itself. What
 * another domain of ours still uses stays. Throws ProviderAway; resolves with the reason where the provider refuses.
 */
export async function leaveProvider(
  deps: Dependencies,
  { domainId, domain }: { domainId: string; domain: Domain },
): Promise<string | undefined> {
  const { sendingDomains } = deps;
  const { mailDomain, registration } = domain;
  if (!sendingDomains) return undefined;
  const { verified, registered } = await loadName(deps, mailDomain);
  const isOthers = Object.values(registered).some((id) => id !== domainId);
  const receives = verified === null ? !isOthers : verified.domainId === domainId;
  try {
    if (receives) {
      await sendingDomains.stopReceiving(mailDomain);
      await restoreForNext(deps, sendingDomains, { domainId, mailDomain });
    }
    const isOurs = registration?.provider === sendingDomains.provider && registration.made;
    if (isOurs && !isOthers) await sendingDomains.remove(registration.providerId);
    return undefined;
  } catch (error) {
    if (error instanceof ProviderRefused) return error.message;
    throw error;
  }
}

/** Another domain that was verified meanwhile has just lost its mail. */
async function restoreForNext(
  deps: Dependencies,
  sendingDomains: SendingDomains,
  { domainId, mailDomain }: { domainId: string; mailDomain: string },
): Promise<void> {
  const { verified } = await loadName(deps, mailDomain);
  if (verified !== null && verified.domainId !== domainId) await sendingDomains.receive(mailDomain);
}

/** All records that the provider judges, as it could not: what was known before still counts. */
const withProviders = (found: Findings, trouble: RecordFinding | undefined): Findings =>
  Object.fromEntries(
    domainRecords.map((record) => [record, isProviders(record) && trouble ? trouble : found[record]]),
  ) as Findings;

const findingOf = (error: unknown): RecordFinding => ({ status: "temporary_failure", reason: reasonOf(error) });

const lostThere = ({ provider }: SendingDomains): RecordFinding => ({
  status: "temporary_failure",
  reason: `${provider} did not know the domain any more, and has it again now: see whether its records are still the same`,
});

const isOfProvider = (error: unknown): error is Error =>
  error instanceof ProviderAway || error instanceof ProviderRefused;

/** Throws what does not come from the provider. */
function reasonOf(error: unknown): string {
  if (!isOfProvider(error)) throw error;
  return storableLine(`${error.message}; asked again with the next check`, maxReasonLength);
}

const shown = ({ provider }: SendingDomains, reason: string): string =>
  storableLine(`${provider}: ${reason}`, maxReasonLength);
