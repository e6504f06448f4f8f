import type { Decider } from "../decider.ts";
import { invalidRequest, Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type Domain, evolveDomain, initialDomain } from "./domain.ts";
import { type DomainEvent, type DomainFacts, domainRecords, domainStream, type Registration } from "./events.ts";
import { pendingCheckMs } from "./schedule.ts";

type Checked = Extract<DomainEvent, { type: "DomainChecked" }>["data"];

export type DomainCommand =
  | { type: "AddDomain"; domain: DomainFacts; registration?: Registration; at: string }
  | { type: "RegisterDomain"; registration: Registration; at: string }
  | { type: "RequestCheck"; at: string }
  | { type: "RecordCheck"; check: Checked }
  | { type: "AttachIdentity"; identityId: string; at: string }
  | { type: "ResealKey"; privateKey: string }
  /** `gone`: identities known to be deleted, or never created. */
  | { type: "DeleteDomain"; gone: readonly string[]; at: string };

/** Failing checks that count, in a row, after which a verified domain is no longer verified. */
const checksUntilLost = 3;

function decide(command: DomainCommand, domain: Domain): DomainEvent[] {
  if (command.type === "AddDomain") return domain.exists ? [] : add(command);
  if (command.type === "RecordCheck") return recordCheck(command.check, domain);
  if (!domain.exists || domain.deleted) throw new Rejected("not_found", "no such domain");
  switch (command.type) {
    case "RegisterDomain":
      return isSameRegistration(domain, command) ? [] : [registered(command)];
    case "RequestCheck":
      return domain.checkRequested ? [] : [{ type: "DomainCheckRequested", data: { at: command.at } }];
    case "AttachIdentity":
      return attach(command, domain);
    case "ResealKey":
      return domain.privateKey === command.privateKey
        ? []
        : [{ type: "DomainKeyResealed", data: { privateKey: command.privateKey } }];
    case "DeleteDomain": {
      const left = Object.keys(domain.identities).filter((id) => !command.gone.includes(id));
      if (left.length === 0) return [{ type: "DomainDeleted", data: { at: command.at } }];
      const message = `this domain has ${left.length === 1 ? "an identity" : `${left.length} identities`}, such as ${left[0]}: delete them first`;
      throw new Rejected("invalid_request", message, { conflict: true });
    }
    default:
      return unreachable(command);
  }
}

const add = ({ domain, registration, at }: Extract<DomainCommand, { type: "AddDomain" }>): DomainEvent[] => [
  { type: "DomainAdded", data: { ...domain, at } },
  ...(registration ? [registered({ registration, at })] : []),
];

const isSameRegistration = (
  { registration: there }: Domain,
  { registration }: { registration: Registration },
): boolean => there?.provider === registration.provider && there.providerId === registration.providerId;

const registered = ({ registration, at }: { registration: Registration; at: string }): DomainEvent => ({
  type: "DomainRegistered",
  data: { ...registration, at },
});

function attach({ identityId, at }: Extract<DomainCommand, { type: "AttachIdentity" }>, domain: Domain): DomainEvent[] {
  requireVerified(domain);
  return Object.hasOwn(domain.identities, identityId)
    ? []
    : [{ type: "DomainIdentityAttached", data: { identityId, at } }];
}

/** Throws Rejected invalid_request if no identity may be created on the domain. */
export function requireVerified({ status, name }: Pick<Domain, "status" | "name">): void {
  if (status === "verified") return;
  const remedy = "add its DNS records, and wait until its status is verified";
  throw invalidRequest("domain_id", `${name} is not verified: ${remedy}`);
}

function recordCheck(check: Checked, domain: Domain): DomainEvent[] {
  // Another check of the same attempt is already recorded, or the domain was deleted.
  if (!domain.exists || domain.deleted || check.attempt !== domain.attempts + 1) return [];
  const checked: DomainEvent = { type: "DomainChecked", data: check };
  const after = evolveDomain(domain, checked);
  const consequences = domain.status === "verified" ? whileVerified(domain, after, check) : untilVerified(after, check);
  return [checked, ...consequences];
}

const failingIn = ({ records }: Checked): string =>
  domainRecords.filter((record) => records[record].status === "failed").join(", ");

/** The first failing check that counts is recorded as a warning, and the last one loses the domain. */
function whileVerified(before: Domain, { name: domainName, failingChecks }: Domain, check: Checked): DomainEvent[] {
  if (failingChecks <= before.failingChecks) return [];
  const { at } = check;
  const failing = failingIn(check);
  if (failingChecks === 1) return [{ type: "DomainFailing", data: { domainName, at, because: failing } }];
  const because = `${checksUntilLost} checks, hours apart, failed: ${failing}`;
  return failingChecks < checksUntilLost ? [] : [{ type: "DomainLost", data: { domainName, at, because } }];
}

function untilVerified(domain: Domain, check: Checked): DomainEvent[] {
  const { at, heldBack } = check;
  if (!heldBack && domainRecords.every((record) => domain.records[record] === "verified")) {
    return [{ type: "DomainVerified", data: { domainName: domain.name, at } }];
  }
  if (domain.status === "failed" || Date.parse(at) - Date.parse(domain.pendingSince) < pendingCheckMs) return [];
  const silent = heldBack ? "the mail provider could not be asked" : "DNS did not answer";
  return [{ type: "DomainFailed", data: { at, because: `not verified in time: ${failingIn(check) || silent}` } }];
}

export const domainDecider: Decider<Domain, DomainCommand, DomainEvent> = {
  category: "domain",
  initial: initialDomain,
  evolve: evolveDomain,
  decide,
};

export const domains = stream({ decider: domainDecider, name: domainStream });
