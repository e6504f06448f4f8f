import type { ProviderRecord, ProvidersRecord } from "#streams/domain/events.ts";

/** A domain as the mail provider keeps it. `made`: it was made for this, and is nobody else's. */
export type ProviderDomain = { id: string; made: boolean; records: ProviderRecord[] };

/** What is wrong with a record, as the provider found it. */
export type ProviderFault = { record: ProvidersRecord; reason: string };

/**
 * A mail provider's side of domains: it authenticates the names that mail is sent for, says which DNS records that takes, and brings their mail
 * in. Each call may be made again. Each throws ProviderAway or ProviderRefused, in words that hold no secret.
 */
export type SendingDomains = {
  /** What people know it as. */
  readonly provider: string;
  /** Finds the domain there, or makes it. */
  register(mailDomain: string): Promise<ProviderDomain>;
  /** What the provider does not find in place; none if it will sign for the domain. "unknown": it has no such domain any more. */
  validate(id: string): Promise<ProviderFault[] | "unknown">;
  /** Forgets a domain. */
  remove(id: string): Promise<void>;
  /** Sees to it that mail for any address of this domain is brought to us. */
  receive(mailDomain: string): Promise<void>;
  /** Sees to it that it no longer is; a setting that brings the mail elsewhere stays. */
  stopReceiving(mailDomain: string): Promise<void>;
  close(): Promise<void>;
};

/** It gave no answer, or none that counts: worth another try by itself. */
export class ProviderAway extends Error {
  override readonly name = "ProviderAway";
}

/** It said no: another try helps only once something is different. */
export class ProviderRefused extends Error {
  override readonly name = "ProviderRefused";
}
