import type { Event } from "../event.ts";

/** The five records a domain needs: who owns it, who may send for it, what it signs with, the sending identity, where its mail goes. */
export type DomainRecord = "ownership" | "spf" | "dkim" | "sending" | "mx";
export const domainRecords: readonly DomainRecord[] = ["ownership", "spf", "dkim", "sending", "mx"];

export type DomainStatus = "pending" | "verified" | "failed";

/** How a check found a record. `reason`: what was found instead, or why the check had no result; null if the record is correct. */
export type RecordFinding = { status: "verified" | "failed" | "temporary_failure"; reason: string | null };

export type DomainFacts = {
  workspaceId: string;
  /** The name that was asked for, in ASCII and lower case. */
  name: string;
  /** Relative to the name; null if mail goes to the name itself. */
  subdomain: string | null;
  /** The domain part of its identities' addresses. */
  mailDomain: string;
  /** Proves the ownership. */
  token: string;
  /** Proves the sending identity. */
  sendingToken: string;
  /** Of the DKIM key. */
  selector: string;
  /** RSA, the DER of SPKI in base64: the p= of its DKIM record. */
  publicKey: string;
  /** PEM of PKCS 8, sealed (src/platform/secrets/keyRing.ts). */
  privateKey: string;
};

/** Those of the five records that a mail provider may give the values of. */
export type ProvidersRecord = Extract<DomainRecord, "spf" | "dkim" | "sending">;

/** A record as a mail provider wants it; there may be more than one of a kind. */
export type ProviderRecord = {
  record: ProvidersRecord;
  type: "TXT" | "MX";
  fqdn: string;
  value: string;
  /** Of MX records. */
  priority: number | null;
};

/** The domain at the mail provider that mail is sent through. */
export type Registration = {
  /** What people know the provider as. */
  provider: string;
  /** The provider's own id. */
  providerId: string;
  /** False if it was there before. */
  made: boolean;
  records: ProviderRecord[];
};

/** Times are ISO 8601 UTC. */
export type DomainEvent =
  | Event<"DomainAdded", DomainFacts & { at: string }>
  /** From here on the provider's records count in place of the service's own, as long as mail is sent through it. */
  | Event<"DomainRegistered", Registration & { at: string }>
  /** A check requested by a person: it counts like any other, and sets a failed domain back to pending. */
  | Event<"DomainCheckRequested", { at: string }>
  | Event<
      "DomainChecked",
      {
        /** From 1. */
        attempt: number;
        at: string;
        records: Record<DomainRecord, RecordFinding>;
        /** Null if DNS did not say. */
        hasExistingMx: boolean | null;
        recommendedSubdomain: string | null;
        dnsProvider: string | null;
        /** The mail provider could not be asked, or is not set up yet: the domain is not verified by this check, whatever DNS says. Absent: no. */
        heldBack?: true;
      }
    >
  | Event<"DomainVerified", { domainName: string; at: string }>
  /** The domain was not verified in time. */
  | Event<"DomainFailed", { at: string; because: string }>
  /** It was verified, and no longer is. */
  | Event<"DomainLost", { domainName: string; at: string; because: string }>
  /** An identity's address is on it from here on. */
  | Event<"DomainIdentityAttached", { identityId: string; at: string }>
  /** The same private key under another key of the ring. */
  | Event<"DomainKeyResealed", { privateKey: string }>
  | Event<"DomainDeleted", { at: string }>;

export const domainStream = (id: string): string => `domain-${id}`;
