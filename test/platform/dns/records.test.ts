import { expect } from "chai";
import { expectedRecords, type RecordSettings } from "#src/platform/dns/records.ts";
import { askingOnce } from "#src/platform/dns/resolver.ts";
import { dnsSetupFactsOf } from "#src/platform/dns/setupFacts.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { publishDomain, publishService, resolverOf, settings } from "./publishedDomain.ts";

describe("a domain's records [d7 records]", () => {
  let dns: DnsServer;
  before(async () => {
    dns = await startDnsServer();
    publishService(dns);
  });
  after(() => dns.close());

  const resolver = () => resolverOf(dns);
  const published = (subdomain: string | null = "mail", by: RecordSettings = settings) =>
    publishDomain(dns, { subdomain, by });

  it("a domain's records are shown with the exact host, relative to the registered name", () => {
    const { name, expected } = published();
    expect(expected.map(({ type, host, fqdn }) => [type, host, fqdn])).to.deep.equal([
      ["TXT", "_service.mail", `_service.mail.${name}`],
      ["TXT", "mail", `mail.${name}`],
      ["TXT", "cs1._domainkey.mail", `cs1._domainkey.mail.${name}`],
      ["TXT", "_sending.mail", `_sending.mail.${name}`],
      ["MX", "mail", `mail.${name}`],
    ]);
    expect(expected.map(({ priority }) => priority)).to.deep.equal([null, null, null, null, 10]);
    expect(expected[1]?.value).to.equal("v=spf1 include:spf.service.example ~all");
    expect(expected[4]?.value).to.equal("mx.service.example");
    expect(published(null).expected.map(({ host }) => host)).to.deep.equal([
      "_service",
      "@",
      "cs1._domainkey",
      "_sending",
      "@",
    ]);
    const below = expectedRecords(
      { ...published().facts, name: "shop.customer.co.uk", mailDomain: "mail.shop.customer.co.uk" },
      { ...settings, spfInclude: null },
    );
    expect(below.map(({ host }) => host)).to.include.members(["_service.mail.shop", "mail.shop"]);
    expect(below[1]?.value).to.equal("v=spf1 a:mx.service.example ~all");
  });

  it("a domain's records are recognised as correct, also split, spaced and among others", async () => {
    const { mailDomain, expected, check } = published();
    const ok = { status: "verified", reason: null };
    expect(await check()).to.deep.equal({ ownership: ok, spf: ok, dkim: ok, sending: ok, mx: ok });
    const key = expected[2]!.value;
    dns.txt(`cs1._domainkey.${mailDomain}`, [key.slice(0, 40), ` ${key.slice(40, 200)} `, key.slice(200)]);
    dns.txt(mailDomain, "google-site-verification=x", "V=SPF1 ip4:192.0.2.0/24 +INCLUDE:spf.service.example -all");
    dns.txt(`_service.${mailDomain}`, "something else", " tok-1 ");
    dns.mx(mailDomain, [20, "other.example"], [10, "MX.Service.Example"]);
    expect(await check()).to.deep.equal({ ownership: ok, spf: ok, dkim: ok, sending: ok, mx: ok });
  });

  it("a wrong record's reason says what was found instead", async () => {
    const cases: [record: string, put: (mailDomain: string) => void, reason: RegExp][] = [
      ["ownership", (at) => dns.txt(`_service.${at}`, "tok-9"), /found "tok-9" instead/],
      ["ownership", (at) => dns.txt(`_service.${at}`, "a", "b", "c", "d"), /found "a", "b", "c" and 1 more instead/],
      ["ownership", (at) => dns.remove(`_service.${at}`), /no TXT record at _service\.mail\./],
      ["spf", (at) => dns.txt(at, "v=spf1 ip4:203.0.113.1 ~all"), /include:spf\.service\.example is needed before any/],
      ["spf", (at) => dns.txt(at, "v=spf1 include:spf.service.example ~all", "v=spf1 -all"), /2 SPF records/],
      ["spf", (at) => dns.txt(at, "v=spf10 include:spf.service.example"), /no SPF record/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "v=DKIM1; k=rsa; p=QUJE"), /another DKIM key/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "v=DKIM1; p="), /revoked/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, `v=DKIM1; k=ed25519; p=${"QUJD".repeat(90)}`), /k=ed25519/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "hello"), /no DKIM key/],
      ["sending", (at) => dns.txt(`_sending.${at}`, "tok-1"), /found "tok-1" instead/],
      ["mx", (at) => dns.mx(at, [10, "mx.else.example"]), /mail goes to mx\.else\.example instead/],
      ["mx", (at) => dns.cname(at, "nowhere.example"), /no MX record/],
    ];
    for (const [record, put, reason] of cases) {
      const { mailDomain, check } = published();
      put(mailDomain);
      const { [record as "mx"]: finding, ...rest } = await check();
      expect(finding, reason.source).to.have.property("status", "failed");
      expect(finding.reason).to.match(reason);
      if (record !== "mx") {
        const statuses = Object.values(rest).map(({ status }) => status);
        expect(new Set(statuses), reason.source).to.deep.equal(new Set(["verified"]));
      }
    }
  });

  it("a domain's records are not judged if no server answers", async () => {
    const { mailDomain, check } = published();
    dns.trouble(`_service.${mailDomain}`, "servfail");
    dns.trouble(`${mailDomain} TXT`, "silent");
    dns.trouble(`${mailDomain} MX`, "refused");
    const found = await check(1_500);
    expect(found.ownership).to.deep.equal({ status: "temporary_failure", reason: "the DNS server failed (SERVFAIL)" });
    expect(found.spf.status).to.equal("temporary_failure");
    expect(found.mx.status).to.equal("temporary_failure");
    expect(found.dkim.status).to.equal("verified");
  });

  it("a development install's host, which has no dot, and a host that is an address have a valid SPF record", async () => {
    for (const [inboundMxHost, value] of [
      ["localhost", "v=spf1 ip4:127.0.0.1 ~all"],
      ["192.0.2.1", "v=spf1 ip4:192.0.2.1 ~all"],
      ["2001:db8::1", "v=spf1 ip6:2001:db8::1 ~all"],
    ] as const) {
      const { expected, check } = published("mail", { inboundMxHost, spfInclude: null });
      expect(expected[1]?.value).to.equal(value);
      expect((await check()).spf.status, value).to.equal("verified");
    }
  });

  it("a check asks each question once, and stops at its number of look-ups", async () => {
    const asked = dns.asked.length;
    const { check } = published();
    await check();
    const questions = dns.asked.slice(asked).map(({ name, type }) => `${type} ${name}`);
    expect(questions.filter((question, index) => questions.indexOf(question) !== index)).to.deep.equal([]);
    const few = askingOnce(resolver(), 2);
    const outcomes = [];
    for (const name of ["a.example", "b.example", "a.example", "c.example"])
      outcomes.push((await few.txt(name)).outcome);
    expect(outcomes).to.deep.equal(["missing", "missing", "missing", "temporary_failure"]);
  });

  it("hints name existing mail, a free name below, and who runs the DNS", async () => {
    const { name } = published(null);
    const look = (mailDomain = name) => dnsSetupFactsOf(resolver(), { name, mailDomain }, settings.inboundMxHost);
    expect(await look(), "our own MX").to.deep.equal({
      hasExistingMx: false,
      recommendedSubdomain: null,
      dnsProvider: null,
    });
    dns.mx(name, [5, "mx.google.example"]);
    dns.ns(name, "ada.ns.cloudflare.com", "bob.ns.cloudflare.com");
    expect(await look()).to.deep.equal({
      hasExistingMx: true,
      recommendedSubdomain: `mail.${name}`,
      dnsProvider: "Cloudflare",
    });
    dns.a(`mail.${name}`, "192.0.2.1");
    expect((await look()).recommendedSubdomain).to.equal(`inbox.${name}`);
    expect((await look(`mail.${name}`)).recommendedSubdomain, "its own").to.equal(`mail.${name}`);
    dns.cname(`inbox.${name}`, "elsewhere.example");
    dns.ns(name, "ns1.small-host.example");
    const third = await look();
    expect(third).to.include({ recommendedSubdomain: `agents.${name}`, dnsProvider: "small-host.example" });
    dns.trouble(`${name} MX`, "servfail");
    expect((await look()).hasExistingMx).to.equal(null);
  });

  it("a domain that wants no mail (a single dot) has no existing mail", async () => {
    const { name } = published("mail");
    dns.mx(name, [0, ""]);
    const found = await dnsSetupFactsOf(resolver(), { name, mailDomain: `mail.${name}` }, settings.inboundMxHost);
    expect(found.hasExistingMx).to.equal(false);
  });
});
