import { createSpfEvaluator } from "#src/mail/in/authentication/spfEvaluator.ts";
import { checkRecords } from "#src/platform/dns/checkRecords.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { expectedRecords, type RecordSettings } from "#src/platform/dns/records.ts";
import { askingOnce } from "#src/platform/dns/resolver.ts";
import { spfJudge } from "#src/platform/dns/spf/judgeSpf.ts";
import type { DnsServer } from "#test/support/dnsServer.ts";
import { sharedThreads } from "#test/support/sharedThreads.ts";

export const settings = { inboundMxHost: "mx.service.example", spfInclude: "spf.service.example" };
let number = 0;

/** Publishes the names of the service in DNS. */
export function publishService(dns: DnsServer): void {
  dns.txt("spf.service.example", "v=spf1 ip4:192.0.2.0/28 ip6:2001:db8::/64 a:out.service.example -all");
  dns.a("out.service.example", "198.51.100.7");
}

export const resolverOf = (dns: DnsServer, timeoutMs = 60_000) =>
  createNodeResolver({ servers: [dns.address], timeoutMs, tries: 1 });

export type Published = { subdomain?: string | null; by?: RecordSettings; addresses?: readonly string[] | undefined };

/** Makes a new domain whose records are published, and which can be checked as the service does. */
export function publishDomain(dns: DnsServer, { subdomain = "mail", by = settings, addresses }: Published = {}) {
  const name = `customer${++number}.co.uk`;
  const mailDomain = subdomain === null ? name : `${subdomain}.${name}`;
  const facts = {
    ...{ name, mailDomain, token: "tok-1", sendingToken: "tok-2", selector: "cs1" },
    publicKey: "QUJD".repeat(90),
  };
  const expected = expectedRecords(facts, by);
  dns.publish(expected);
  const check = (timeoutMs?: number) => {
    const resolver = askingOnce(resolverOf(dns, timeoutMs), 500);
    const evaluate = createSpfEvaluator(sharedThreads());
    const judgeSpf = spfJudge({ resolver, evaluate, addresses, helo: "mx.service.example", turn: "one" });
    return checkRecords({ resolver, judgeSpf }, expected);
  };
  return { name, mailDomain, facts, expected, check };
}
