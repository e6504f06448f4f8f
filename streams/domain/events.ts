import type { Event } from "../event.ts";

/**
 * The five records a domain needs: its ownership, permitted senders (SPF), signing key (DKIM), sending identity, and receiving host (MX).
 */
export type DomainRecord = "ownership" | "spf" | "dkim" | "sending" | "mx";
export const domainRecords: readonly DomainRecord[] = ["ownership", "spf", "dkim", "sending", "mx"];

/** Records that a domain should have, and that it is verified without: a DMARC policy. */
export type AdvisedRecord = "dmarc";

export type DomainStatus = "pending" | "verified" | "failed";

/** Result of a check of a record. `reason`: the values found instead, or why the check had no result; null if the record is correct. */
export type RecordFinding = { status: "verified" | "failed" | "temporary_failure"; reason: string | null };

export type DomainFacts = {
  workspaceId: string;
  /** Requested name, in ASCII and lower case. */
  name: string;
  /** Subdomain that receives mail, relative to the name; null if the name itself does. */
  subdomain: string | null;
  /** The domain part of its identities' addresses. */
  mailDomain: string;
  /** Token that proves ownership. */
  token: string;
  /** Token that proves the sending identity. */
  sendingToken: string;
  /** Selector of the DKIM key. */
  selector: string;
  /** RSA, the DER of SPKI in base64: the p= of its DKIM record. */
  publicKey: string;
  /** PEM of PKCS 8, sealed (src/platform/secrets/keyRing.ts). */
  privateKey: string;
};

/** Records whose values a mail provider may determine. */
export type ProvidersRecord = Extract<DomainRecord, "spf" | "dkim" | "sending">;

/** A record required by a mail provider; there may be several of a kind. */
export type ProviderRecord = {
  record: ProvidersRecord;
  type: "TXT" | "MX";
  fqdn: string;
  value: string;
  /** Priority of an MX record, otherwise null. */
  priority: number | null;
};

/** The domain's registration at the mail provider that sends its mail. */
export type Registration = {
  /** The provider's name. */
  provider: string;
  /** The provider's own id. */
  providerId: string;
  /** True if the service created the registration; false if it existed. */
  made: boolean;
  records: ProviderRecord[];
};

/** Times are ISO 8601 UTC. */
export type DomainEvent =
  | Event<"DomainAdded", DomainFacts & { at: string }>
  /** From now on the provider's records replace the service's own, as long as mail is sent through it. */
  | Event<"DomainRegistered", Registration & { at: string }>
  /** A check requested by a person: it counts like any other, and sets a failed domain back to pending. */
  | Event<"DomainCheckRequested", { at: string }>
  | Event<
      "DomainChecked",
      {
        /** Number of the check, from 1. */
        attempt: number;
        at: string;
        records: Record<DomainRecord, RecordFinding>;
        advised?: Record<AdvisedRecord, RecordFinding>;
        /** Null if DNS did not answer. */
        hasExistingMx: boolean | null;
        recommendedSubdomain: string | null;
        dnsProvider: string | null;
        /**
         * Set if the mail provider could not be queried, or is not set up yet: this check does not verify the domain, whatever DNS answers.
         */
        heldBack?: true;
      }
    >
  | Event<"DomainVerified", { domainName: string; at: string }>
  /** The domain was not verified in time. */
  | Event<"DomainFailed", { at: string; because: string }>
  /** A verified domain failed a check; after further ones, hours apart, it is lost. */
  | Event<"DomainFailing", { domainName: string; at: string; because: string }>
  /** The domain is no longer verified. */
  | Event<"DomainLost", { domainName: string; at: string; because: string }>
  /** An identity was created on the domain. */
  | Event<"DomainIdentityAttached", { identityId: string; at: string }>
  /** The private key was sealed again, under another key of the ring. */
  | Event<"DomainKeyResealed", { privateKey: string }>
  | Event<"DomainDeleted", { at: string }>;

export const domainStream = (id: string): string => `domain-${id}`;
