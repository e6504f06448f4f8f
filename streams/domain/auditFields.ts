import type { AuditFields } from "../auditFields.ts";
import type { DomainEvent } from "./events.ts";

export const domainFields: AuditFields<DomainEvent> = {
  workspaceId: "open",
  identityId: "open",
  at: "open",
  provider: "open",
  selector: "open",
  publicKey: "open",
  name: "salted",
  subdomain: "salted",
  mailDomain: "salted",
  domainName: "salted",
  token: "salted",
  sendingToken: "salted",
  privateKey: "secret",
  providerId: "salted",
  records: "salted",
  advised: "salted",
  recommendedSubdomain: "salted",
  dnsProvider: "salted",
  because: "salted",
};
