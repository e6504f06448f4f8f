import type { ProviderRecord, ProvidersRecord } from "#streams/domain/events.ts";

/** A domain as the mail provider stores it. `made`: this call created it, and no one else uses it. */
export type ProviderDomain = { id: string; made: boolean; records: ProviderRecord[] };

/** A fault in a DNS record, as the provider found it. */
export type ProviderFault = { record: ProvidersRecord; reason: string };

/**
 * A mail provider's operations on domains: it authenticates the names that mail is sent for, says which DNS records that needs, and
 * delivers their inbound mail. Each call may be repeated. Each throws ProviderAway or ProviderRefused, with a message that holds no
 * secret.
 */
export type SendingDomains = {
  /** Display name of the provider. */
  readonly provider: string;
  /** Finds the domain at the provider, or creates it. */
  register(mailDomain: string): Promise<ProviderDomain>;
  /** Returns the faults the provider finds; none if it will sign for the domain. "unknown": it no longer has such a domain. */
  validate(id: string): Promise<ProviderFault[] | "unknown">;
  /** Deletes a domain. */
  remove(id: string): Promise<void>;
  /** Ensures that mail for any address of this domain is delivered to us. */
  receive(mailDomain: string): Promise<void>;
  /** Ensures that mail for this domain is no longer delivered to us. A setting that delivers the mail elsewhere stays. */
  stopReceiving(mailDomain: string): Promise<void>;
  close(): Promise<void>;
};

/** The provider gave no usable answer: an automatic retry may help. */
export class ProviderAway extends Error {
  override readonly name = "ProviderAway";
}

/** The provider refused: a retry helps only after something has changed. */
export class ProviderRefused extends Error {
  override readonly name = "ProviderRefused";
}
