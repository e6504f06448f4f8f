import type { Event } from "../event.ts";

/** The five records a domain needs: who owns it, who may send for it, what it signs with, the sending identity, where its mail goes. */
export type DomainRecord = "ownership" | "spf" | "dkim" | "sending" | "mx";
export const domainRecords: readonly DomainRecord[] = ["ownership", "spf", "dkim", "sending", "mx"];

export type DomainStatus = "pending" | "verified" | "failed";

/** How a check found a record. `reason`: what was found instead, or why nobody knows; null where it is as it should be. */
export type RecordFinding = { status: "verified" | "failed" | "temporary_failure"; reason: string | null };

export type DomainFacts = {
  workspaceId: string;
  /** The name that was asked for, in ASCII and lower case. */
  name: string;
  /** Relative to the name; null where mail goes to the name itself. */
  subdomain: string | null;
  /** What stands behind the @ of its identities. */
  mailDomain: string;
  /** Proves the ownership. */
  token: string;
  /** Proves the sending identity. */
  sendingToken: string;
  /** Of the DKIM key. */
  selector: string;
  /** RSA, the DER of SPKI in base64: the p= of its DKIM record. */
  publicKey: string;
  /** PEM of PKCS 8, sealed (src/secrets/keyRing.ts). */
  privateKey: string;
};

/** Times are ISO 8601 UTC. */
export type DomainEvent =
  | Event<"DomainAdded", DomainFacts & { at: string }>
  /** By hand: counts like any other check, and puts a failed domain back to pending. */
  | Event<"DomainCheckRequested", { at: string }>
  | Event<
      "DomainChecked",
      {
        /** From 1. */
        attempt: number;
        at: string;
        records: Record<DomainRecord, RecordFinding>;
        /** Null where DNS did not say. */
        hasExistingMx: boolean | null;
        recommendedSubdomain: string | null;
        dnsProvider: string | null;
      }
    >
  | Event<"DomainVerified", { domainName: string; at: string }>
  /** Never verified in all the time it had. */
  | Event<"DomainFailed", { at: string; because: string }>
  /** Was verified, and is no more. */
  | Event<"DomainLost", { domainName: string; at: string; because: string }>
  /** An identity's address is on it from here on. */
  | Event<"DomainIdentityAttached", { identityId: string; at: string }>
  /** The same private key under another key of the ring. */
  | Event<"DomainKeyResealed", { privateKey: string }>
  | Event<"DomainDeleted", { at: string }>;

export const domainStream = (id: string): string => `domain-${id}`;
