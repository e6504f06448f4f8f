import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import type { Zone } from "../platform/dns/zones.ts";

const file = fileURLToPath(new URL("../../../shared/cases/08-dns.json", import.meta.url));
const shared = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Zone[]) : [];

/** One zone of each kind. All kinds are in ../platform/dns/zones.ts. */
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

describe("the status of domains with zones of all kinds [d7 records]", () => {
  let dns: DnsServer;
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    dns = await startDnsServer();
    service = await startInProcess({ DNS_SERVERS: dns.address, INBOUND_MX_HOST: "mx.service.example" });
    workspace = await service.workspace();
  });
  after(async () => {
    await service.stop();
    await dns.close();
  });

  const read = async (id: string) => (await workspace.ask(`GET /v1/domains/${id}`)).json;
  let number = 0;

  async function checked(zone: Zone) {
    const domain_name = `zone${++number}.example`;
    const { json: domain } = await workspace.ask("POST /v1/domains", { json: { domain_name } });
    const [, spf, dkim, , mx] = domain.dns_records;
    const mechanism: string = spf.value.split(" ")[1];
    const filled = (text: string) =>
      text
        .replaceAll("{mechanism}", mechanism)
        .replaceAll("{MECHANISM}", mechanism.toUpperCase())
        .replaceAll("{key}", dkim.value);
    dns.publish(domain.dns_records);
    if (zone.spf !== undefined) dns.txt(spf.fqdn, ...[zone.spf].flat().map(filled));
    if (zone.dkim) dns.txt(dkim.fqdn, ...zone.dkim.map(filled));
    const others = (zone.mx ?? []).map(({ exchange, priority }) => [priority, exchange] as [number, string]);
    dns.mx(mx.fqdn, ...others, [mx.priority, mx.value]);
    const attempts = async () => (await read(domain.id)).verification_attempts ?? 0;
    const before = await attempts();
    await workspace.ask(`POST /v1/domains/${domain.id}/verify`);
    // One check may have begun before the zone was complete.
    await until(async () => (await attempts()) > before);
    await workspace.ask(`POST /v1/domains/${domain.id}/verify`);
    await until(async () => (await attempts()) > before + 1);
    return read(domain.id);
  }

  for (const zone of [...shared, ...own])
    it(`a domain with ${zone.what}: ${zone.expect}`, async () => {
      const domain = await checked(zone);
      const { spf_status, dkim_status, mx_status } = domain;
      const about = zone.spf !== undefined ? spf_status : zone.dkim ? dkim_status : mx_status;
      expect(about, JSON.stringify(domain.dns_records)).to.equal(zone.expect);
      expect(domain.status).to.equal(zone.expect === "verified" ? "verified" : "pending");
    });
});
