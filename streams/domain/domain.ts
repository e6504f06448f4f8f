import { unreachable } from "../unreachable.ts";
import type { DomainEvent, DomainFacts, DomainRecord, DomainStatus, Registration } from "./events.ts";

export type Domain = DomainFacts & {
  exists: boolean;
  deleted: boolean;
  status: DomainStatus;
  /** Registration at the mail provider, if the provider determines the values of the DNS records. */
  registration: Registration | null;
  /** Status of each DNS record according to the last check that got an answer. */
  records: Readonly<Record<DomainRecord, DomainStatus>>;
  /** Start of the current verification: when the domain was added, or verification was requested again. */
  pendingSince: string;
  lastCheckedAt: string | null;
  attempts: number;
  /** True while a manually requested check is outstanding. */
  checkRequested: boolean;
  /** Consecutive failing checks of a verified domain that count, and the time of the last one, whatever came after it. */
  failingChecks: number;
  lastFailureAt: string | null;
  /** Time since which each identity is on the domain, by id, including identities deleted since. */
  identities: Readonly<Record<string, string>>;
};

const unchecked = { ownership: "pending", spf: "pending", dkim: "pending", sending: "pending", mx: "pending" } as const;

export const initialDomain: Domain = {
  exists: false,
  deleted: false,
  workspaceId: "",
  name: "",
  subdomain: null,
  mailDomain: "",
  token: "",
  sendingToken: "",
  selector: "",
  publicKey: "",
  privateKey: "",
  status: "pending",
  registration: null,
  records: unchecked,
  pendingSince: "",
  lastCheckedAt: null,
  attempts: 0,
  checkRequested: false,
  failingChecks: 0,
  lastFailureAt: null,
  identities: {},
};

export function evolveDomain(domain: Domain, event: DomainEvent): Domain {
  switch (event.type) {
    case "DomainAdded": {
      const { at, ...facts } = event.data;
      return { ...domain, ...facts, exists: true, pendingSince: at };
    }
    case "DomainRegistered": {
      const { at: _, ...registration } = event.data;
      return { ...domain, registration };
    }
    case "DomainCheckRequested":
      return domain.status === "failed"
        ? { ...domain, checkRequested: true, status: "pending", pendingSince: event.data.at }
        : { ...domain, checkRequested: true };
    case "DomainChecked":
      return checked(domain, event.data);
    case "DomainVerified":
      return { ...domain, status: "verified", failingChecks: 0, lastFailureAt: null };
    case "DomainFailed":
    case "DomainLost":
      return { ...domain, status: "failed", failingChecks: 0, lastFailureAt: null };
    case "DomainFailing":
      return domain;
    case "DomainIdentityAttached": {
      const { identityId, at } = event.data;
      return { ...domain, identities: { ...domain.identities, [identityId]: at } };
    }
    case "DomainKeyResealed":
      return { ...domain, privateKey: event.data.privateKey };
    case "DomainDeleted":
      return { ...domain, deleted: true };
    default:
      return unreachable(event);
  }
}

type Checked = Extract<DomainEvent, { type: "DomainChecked" }>["data"];

function checked(domain: Domain, { attempt, at, records }: Checked): Domain {
  const found = Object.entries(records) as [DomainRecord, Checked["records"][DomainRecord]][];
  const answered = found.flatMap(([record, { status }]) =>
    status === "temporary_failure" ? [] : [[record, status] as const],
  );
  return {
    ...domain,
    records: { ...domain.records, ...Object.fromEntries(answered) },
    attempts: attempt,
    lastCheckedAt: at,
    checkRequested: false,
    ...failuresAfter(domain, { at, found: found.map(([, { status }]) => status) }),
  };
}

/** Milliseconds between two failing checks that count, so that a change of DNS in progress does not lose a domain. */
const betweenFailuresMs = 6 * 3_600_000;

/**
 * Counts failing checks in a row. A check soon after one that counted does not count, and a check with unanswered queries does not end the
 * row.
 */
function failuresAfter(
  { status, failingChecks, lastFailureAt }: Domain,
  { at, found }: { at: string; found: readonly string[] },
): Pick<Domain, "failingChecks" | "lastFailureAt"> {
  if (status !== "verified") return { failingChecks: 0, lastFailureAt: null };
  if (!found.includes("failed"))
    return { failingChecks: found.includes("temporary_failure") ? failingChecks : 0, lastFailureAt };
  const isSoon = lastFailureAt !== null && Date.parse(at) - Date.parse(lastFailureAt) < betweenFailuresMs;
  return isSoon ? { failingChecks, lastFailureAt } : { failingChecks: failingChecks + 1, lastFailureAt: at };
}
