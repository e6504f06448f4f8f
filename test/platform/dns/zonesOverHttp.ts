import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DnsServer } from "#test/support/dnsServer.ts";
import type { Zone } from "./zones.ts";

const file = fileURLToPath(new URL("../../../../shared/cases/08-dns.json", import.meta.url));

/** Zones collected by others, if they are next to the repository. */
const collected: Zone[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];

/** One zone of each kind. All kinds are in zones.ts. */
const own: Zone[] = [
  { what: "our SPF mechanism behind ?all", spf: "v=spf1 ?all {mechanism}", expect: "failed" },
  { what: "an SPF prefix that is too long", spf: "v=spf1 ip6:2001:db8::/129 {mechanism} ~all", expect: "failed" },
  { what: "SPF in mixed letters", spf: "V=spf1 {MECHANISM} -All", expect: "verified" },
  { what: "an SPF record with a NUL", spf: "v=spf1 a\u0000b {mechanism} ~all", expect: "failed" },
  {
    what: "an SPF record with a sign that turns the text round",
    spf: "v=spf1 \ufffd\u202e {mechanism} ~all",
    expect: "failed",
  },
  { what: "a DKIM record with a NUL", dkim: ["v=DKIM1; k=r\u0000sa; p=x"], expect: "failed" },
  { what: "an MX of the same preference", mx: [{ exchange: "old.example", priority: 10 }], expect: "failed" },
  { what: "a worse MX", mx: [{ exchange: "backup.example", priority: 11 }], expect: "verified" },
  { what: "a DKIM key for tests", dkim: ["{key}; t=y"], expect: "failed" },
  { what: "a DKIM key in quotation marks", dkim: ['"{key}"'], expect: "failed" },
];

export const zonesOverHttp: readonly Zone[] = [...collected, ...own];

/** Publishes a zone for a domain of GET /v1/domains. Returns the name of the status that it is about. */
export function publishZone(dns: DnsServer, zone: Zone, { dns_records }: { dns_records: any[] }): string {
  const [, spf, dkim, , mx] = dns_records;
  const mechanism: string = spf.value.split(" ")[1];
  const filled = (text: string) =>
    text
      .replaceAll("{mechanism}", mechanism)
      .replaceAll("{MECHANISM}", mechanism.toUpperCase())
      .replaceAll("{key}", dkim.value);
  dns.publish(dns_records);
  if (zone.spf !== undefined) dns.txt(spf.fqdn, ...[zone.spf].flat().map(filled));
  if (zone.dkim) dns.txt(dkim.fqdn, ...zone.dkim.map(filled));
  const others = (zone.mx ?? []).map(({ exchange, priority }) => [priority, exchange] as [number, string]);
  dns.mx(mx.fqdn, ...others, [mx.priority, mx.value]);
  return zone.spf !== undefined ? "spf_status" : zone.dkim ? "dkim_status" : "mx_status";
}
