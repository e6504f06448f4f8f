import Type from "typebox";
import { Address, DnsServer, DomainName, HostName, ListOf, RecordName } from "./settingKinds.ts";

/** The settings of the domains of identities, and of how DNS is asked: a part of src/settings/settings.ts. */
export const domainSettings = {
  INBOUND_MX_HOST: HostName({
    default: "localhost",
    description: "The host that the MX records of your domains have to name.",
  }),
  SPF_INCLUDE: Type.Optional(
    RecordName({
      otherwise: "mail leaves from the host of INBOUND_MX_HOST",
      description: "The name whose SPF record lists the servers that mail leaves from.",
    }),
  ),
  SPF_ADDRESSES: Type.Optional(
    ListOf(Address(), {
      otherwise: "the first of each block that the SPF record of a domain has to permit, at most 32",
      description:
        "The addresses that mail leaves from, as receivers see them: the SPF record of a domain is right if all of them pass.",
    }),
  ),
  DNS_SERVERS: Type.Optional(
    ListOf(DnsServer(), {
      otherwise: "the system's",
      description: "The DNS servers that domains and senders are looked up with.",
    }),
  ),
  SANDBOX_DOMAIN: Type.Optional(
    DomainName({
      otherwise: "agents.localhost; in production none",
      description: "A domain on which every workspace may create identities without DNS records.",
    }),
  ),
};
