import Type from "typebox";
import { Envelope, Nullable, Paging, Strict, Timestamp, Uuid } from "./common.ts";

const DomainStatus = Type.Enum(["pending", "verified", "failed"]);

export const DnsRecord = Strict(
  {
    type: Type.Enum(["TXT", "MX"]),
    host: Type.String(),
    fqdn: Type.String(),
    value: Type.String(),
    purpose: Type.String(),
    priority: Nullable(Type.Integer()),
    status: Type.Enum(["pending", "verified", "failed", "temporary_failure"]),
    reason: Nullable(Type.String({ description: "Why the check failed, and what was found instead." })),
  },
  { title: "DnsRecord" },
);

export const Domain = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    domain_name: Type.String(),
    sandbox: Type.Boolean(),
    status: DomainStatus,
    dkim_status: DomainStatus,
    spf_status: DomainStatus,
    mx_status: DomainStatus,
    ownership_status: DomainStatus,
    verification_token: Type.String(),
    has_existing_mx: Nullable(Type.Boolean()),
    recommended_subdomain: Nullable(Type.String()),
    inbound_subdomain: Nullable(Type.String()),
    dns_provider_hint: Nullable(Type.String()),
    verification_last_checked_at: Nullable(Timestamp),
    verification_attempts: Nullable(Type.Integer()),
    dns_records: Type.Array(DnsRecord),
    advised_records: Type.Array(DnsRecord, {
      description: "Records that the domain should have besides. It is verified without them.",
    }),
    created_at: Timestamp,
    verified_at: Nullable(Timestamp),
  },
  { title: "Domain" },
);

export const CreateDomain = Strict(
  {
    domain_name: Type.String({
      minLength: 1,
      maxLength: 253,
      description:
        "A registered domain, or a name below one; non-ASCII letters are accepted, and shown in their DNS form.",
      examples: ["example.com"],
    }),
    inbound_subdomain: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 253,
          description: "The subdomain that receives mail, such as mail or mail.example.com. Null: the domain itself.",
          examples: ["mail"],
        }),
      ),
    ),
  },
  { title: "CreateDomain" },
);

export const DomainList = Envelope(Domain);
export const DomainQuery = Paging;
