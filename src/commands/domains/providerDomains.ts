import { storableLine } from "#src/mail/in/storable.ts";
import { ProviderAway, ProviderRefused, type SendingDomains } from "#src/mail/out/sendingDomains.ts";
import { isProviders } from "#src/platform/dns/records.ts";
import type { Domain } from "#streams/domain/domain.ts";
import { type DomainRecord, domainRecords, type RecordFinding, type Registration } from "#streams/domain/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { loadName } from "./domainNames.ts";

/**
 * Results of a domain check, by record. With a mail provider that supplies records, the provider names the records it needs, checks them
 * itself, and receives the domain's mail.
 */

export type RecordFindings = Record<DomainRecord, RecordFinding>;

/** Results of a check by record. `heldBack`: true if this check must not verify the domain. */
export type JudgedCheck = { found: RecordFindings; heldBack: boolean };

const maxReasonLength = 300;

/**
 * Finds or registers the domain at the mail provider. Returns undefined if no provider is configured. Throws ProviderAway, ProviderRefused.
 */
export async function registerAtProvider(deps: Dependencies, mailDomain: string): Promise<Registration | undefined> {
  const { sendingDomains } = deps;
  if (!sendingDomains) return undefined;
  const { id, made, records } = await sendingDomains.register(mailDomain);
  return { provider: sendingDomains.provider, providerId: id, made, records };
}

/**
 * Like registerAtProvider, but returns undefined if the provider fails. The domain is then added without a registration, and its first
 * check tries to register it again.
 */
export const tryRegisterAtProvider = (deps: Dependencies, mailDomain: string): Promise<Registration | undefined> =>
  registerAtProvider(deps, mailDomain).catch((error) => {
    if (isOfProvider(error)) return undefined;
    throw error;
  });

/** Returns the provider's registration of the domain, or the reason why it could not be registered. */
export async function registrationOrFault(
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
  const registration = (await registerAtProvider(deps, domain.mailDomain))!;
  const command = { type: "RegisterDomain", registration, at: deps.clock.now().toISOString() } as const;
  return (await deps.domains.handle(domainId, command, cause)).state;
}

type ToJudge = { domainId: string; domain: Domain; found: RecordFindings; trouble: RecordFinding | undefined };

/**
 * Asks the provider to check its records, after DNS was found to have all of them. If the provider does not know the domain, registers it
 * again for the next check.
 */
export async function checkAtProvider(
  deps: Dependencies,
  { domainId, domain, found, trouble }: ToJudge,
  cause: Cause,
): Promise<JudgedCheck> {
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

/** Makes the provider receive the mail of a domain that is verified or about to be. If that fails, the MX record shows the reason. */
export async function enableReceiving(
  { sendingDomains }: Dependencies,
  { mailDomain }: Pick<Domain, "mailDomain">,
  judged: JudgedCheck,
): Promise<JudgedCheck> {
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
 * Removes a deleted domain from the provider before its names are released, so that the next workspace that proves the names starts without
 * the old settings. Keeps settings that another domain here still uses. Throws ProviderAway; returns the reason if the provider refuses.
 */
export async function removeFromProvider(
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

/** Lets the provider receive mail again for another domain with this name that was verified meanwhile. */
async function restoreForNext(
  deps: Dependencies,
  sendingDomains: SendingDomains,
  { domainId, mailDomain }: { domainId: string; mailDomain: string },
): Promise<void> {
  const { verified } = await loadName(deps, mailDomain);
  if (verified !== null && verified.domainId !== domainId) await sendingDomains.receive(mailDomain);
}

/** Marks all records that the provider checks as temporarily failed, so that their earlier status still counts. */
const withProviders = (found: RecordFindings, trouble: RecordFinding | undefined): RecordFindings =>
  Object.fromEntries(
    domainRecords.map((record) => [record, isProviders(record) && trouble ? trouble : found[record]]),
  ) as RecordFindings;

const findingOf = (error: unknown): RecordFinding => ({ status: "temporary_failure", reason: reasonOf(error) });

const lostThere = ({ provider }: SendingDomains): RecordFinding => ({
  status: "temporary_failure",
  reason: `${provider} no longer knew the domain, and it was added again: check that its DNS records are still the same`,
});

const isOfProvider = (error: unknown): error is Error =>
  error instanceof ProviderAway || error instanceof ProviderRefused;

/** Returns the provider's error as a reason; throws other errors. */
function reasonOf(error: unknown): string {
  if (!isOfProvider(error)) throw error;
  return storableLine(`${error.message}; retried at the next check`, maxReasonLength);
}

const shown = ({ provider }: SendingDomains, reason: string): string =>
  storableLine(`${provider}: ${reason}`, maxReasonLength);
