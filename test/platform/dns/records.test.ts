import { expect } from "chai";
import { checkRecords } from "#src/platform/dns/checkRecords.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { expectedRecords } from "#src/platform/dns/records.ts";
import { dnsSetupFactsOf } from "#src/platform/dns/setupFacts.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";

const settings = { inboundMxHost: "mx.service.example", spfInclude: "spf.service.example" };
let number = 0;

describe("a domain's records [d7 records]", () => {
  let dns: DnsServer;
  before(async () => {
    dns = await startDnsServer();
  });
  after(() => dns.close());

  const resolver = (timeoutMs = 60_000) => createNodeResolver({ servers: [dns.address], timeoutMs, tries: 1 });

  /** Makes a new domain whose records are published. */
  function published(subdomain: string | null = "mail") {
    const name = `customer${++number}.co.uk`;
    const mailDomain = subdomain === null ? name : `${subdomain}.${name}`;
    const facts = {
      name,
      mailDomain,
      token: "tok-1",
      sendingToken: "tok-2",
      selector: "cs1",
      publicKey: "QUJD".repeat(90),
    };
    const expected = expectedRecords(facts, settings);
    dns.publish(expected);
    return {
      name,
      mailDomain,
      facts,
      expected,
      check: (timeoutMs?: number) => checkRecords(resolver(timeoutMs), expected),
    };
  }

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
      ["spf", (at) => dns.txt(at, "v=spf1 include:else.example ~all"), /does not have include:spf\.service\.example/],
      ["spf", (at) => dns.txt(at, "v=spf1 -include:spf.service.example ~all"), /does not have/],
      ["spf", (at) => dns.txt(at, "v=spf1 include:spf.service.example.evil.test ~all"), /does not have/],
      ["spf", (at) => dns.txt(at, "v=spf1 include:spf.service.example ~all", "v=spf1 -all"), /2 SPF records/],
      ["spf", (at) => dns.txt(at, "v=spf10 include:spf.service.example"), /no SPF record/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "v=DKIM1; k=rsa; p=QUJE"), /another DKIM key/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "v=DKIM1; p="), /revoked/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, `v=DKIM1; k=ed25519; p=${"QUJD".repeat(90)}`), /k=ed25519/],
      ["dkim", (at) => dns.txt(`cs1._domainkey.${at}`, "p=QUJD", "p=QUJD"), /2 DKIM keys/],
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
