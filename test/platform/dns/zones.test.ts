import { expect } from "chai";
import type { RecordSettings } from "#src/platform/dns/records.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { publishDomain, publishService, settings } from "./publishedDomain.ts";
import { type Zone, zones } from "./zones.ts";

describe("zones as they are found, judged as receivers judge them [d7 records]", () => {
  let dns: DnsServer;
  let number = 0;
  before(async () => {
    dns = await startDnsServer();
    publishService(dns);
  });
  after(() => dns.close());

  /** Publishes a zone, checks it, and returns the finding about the record that the zone is about. */
  async function found(kind: keyof typeof zones, zone: Zone, by: RecordSettings = settings) {
    const { mailDomain, facts, expected, check } = publishDomain(dns, { by });
    const { publicKey: p } = facts;
    const mechanism = expected[1]!.value.split(" ")[1]!;
    const filled = (text: string) =>
      text
        .replaceAll("{mechanism}", mechanism)
        .replaceAll("{MECHANISM}", mechanism.toUpperCase())
        .replaceAll("{key}", expected[2]!.value)
        .replaceAll("{p}", p)
        .replaceAll("{p/ }", p.replace(/.{64}/g, "$& "))
        .replaceAll("{p-}", p.slice(0, 230));
    for (const [name, text] of Object.entries(zone.txt ?? {})) dns.txt(name, filled(text));
    if (zone.spf !== undefined) dns.txt(mailDomain, ...[zone.spf].flat().map(filled));
    if (zone.dkim) dns.txt(`cs1._domainkey.${mailDomain}`, ...zone.dkim.map(filled));
    const theirs = (zone.mx ?? []).map(({ exchange, priority }) => [priority, exchange] as [number, string]);
    dns.mx(mailDomain, [10, "mx.service.example"], ...theirs);
    return (await check())[kind];
  }

  for (const [kind, lines] of Object.entries(zones) as [keyof typeof zones, Zone[]][])
    for (const zone of lines)
      it(`the ${kind} record of a zone with ${zone.what}: ${zone.expect}`, async () => {
        const finding = await found(kind, zone);
        expect(finding).to.have.property("status", zone.expect);
        if (zone.reason) expect(finding.reason).to.match(zone.reason);
      });

  it("a mechanism that leads to no address has to be reached without an error, in every zone of the table", async () => {
    for (const zone of zones.spf) {
      const finding = await found("spf", zone, { ...settings, spfInclude: null });
      expect(finding, zone.what).to.have.property("status", zone.expect);
    }
  });

  describe("the addresses that SPF is evaluated for", () => {
    const ok = { status: "verified", reason: null };
    const spfOf = async (record: string, addresses?: readonly string[], by: RecordSettings = settings) => {
      const { mailDomain, check } = publishDomain(dns, { by, addresses });
      dns.txt(mailDomain, record);
      return (await check()).spf;
    };
    /** The SPF settings of a service whose own record is this one. */
    function serviceWith(record: string): RecordSettings {
      const spfInclude = `spf${++number}.service.example`;
      dns.txt(spfInclude, record);
      return { ...settings, spfInclude };
    }

    it("a zone that lists the blocks of our servers itself is right, and wrong if one of them is missing", async () => {
      const [v4, v6, host] = ["ip4:192.0.2.0/28", "ip6:2001:db8::/64", "ip4:198.51.100.7"];
      expect(await spfOf(`v=spf1 ${v4} ${v6} ${host} -all`)).to.deep.equal(ok);
      for (const [record, missing] of [
        [`v=spf1 ${v6} ${host} -all`, "192.0.2.0"],
        [`v=spf1 ${v4} ${host} -all`, "2001:db8::"],
        [`v=spf1 ${v4} ${v6} -all`, "198.51.100.7"],
      ] as const) {
        const { status, reason } = await spfOf(record);
        expect([status, reason?.includes(`our mail from ${missing} the SPF result fail`)], record).to.deep.equal([
          "failed",
          true,
        ]);
      }
    });

    it("every address that the operator names has to pass, and no other", async () => {
      const record = "v=spf1 ip4:203.0.113.5 -all";
      expect(await spfOf(record, ["203.0.113.5"])).to.deep.equal(ok);
      const { status, reason } = await spfOf(record, ["203.0.113.5", "2001:db8::5"]);
      expect(status).to.equal("failed");
      expect(reason).to.include("our mail from 2001:db8::5");
      expect((await spfOf("v=spf1 include:spf.service.example ~all", ["203.0.113.5"])).status).to.equal("failed");
    });

    it("the hosts of MX records and of records that ours includes or redirects to are our servers too", async () => {
      dns.mx("out.example", [10, "one.out.example"], [20, "two.out.example"]);
      dns.a("one.out.example", "203.0.113.1");
      dns.aaaa("two.out.example", "2001:db8:2::2");
      dns.txt("more.out.example", "v=spf1 ?ip4:203.0.113.77 -ip4:203.0.113.78 ip4:203.0.113.3 ~all ip4:203.0.113.79");
      dns.txt("last.out.example", "v=spf1 ip4:203.0.113.4 -all");
      const by = serviceWith("v=spf1 mx:out.example include:more.out.example redirect=last.out.example");
      const all = ["ip4:203.0.113.1", "ip6:2001:db8:2::2", "ip4:203.0.113.3", "ip4:203.0.113.4"];
      expect(await spfOf(`v=spf1 ${all.join(" ")} -all`, undefined, by)).to.deep.equal(ok);
      for (const one of all) {
        const { status, reason } = await spfOf(
          `v=spf1 ${all.filter((each) => each !== one).join(" ")} -all`,
          undefined,
          by,
        );
        expect([status, reason?.includes(one.slice(4))], one).to.deep.equal(["failed", true]);
      }
    });

    it("of many blocks of ours the first 32 count", async () => {
      const blocks = Array.from({ length: 40 }, (_, n) => `ip4:203.0.113.${n}`);
      const by = serviceWith(`v=spf1 ${blocks.join(" ")} -all`);
      expect(await spfOf(`v=spf1 ${blocks.slice(0, 32).join(" ")} -all`, undefined, by)).to.deep.equal(ok);
      expect((await spfOf(`v=spf1 ${blocks.slice(0, 31).join(" ")} -all`, undefined, by)).reason).to.include(
        "203.0.113.31 ",
      );
    });

    it("of many addresses of a host of ours the first 32 count", async () => {
      const addresses = Array.from({ length: 40 }, (_, n) => `203.0.113.${n}`);
      dns.a("many.service.example", ...addresses);
      const by = { spfInclude: null, inboundMxHost: "many.service.example" };
      const permitting = (count: number) =>
        `v=spf1 ${addresses
          .slice(0, count)
          .map((each) => `ip4:${each}`)
          .join(" ")} -all`;
      expect(await spfOf(permitting(32), undefined, by)).to.deep.equal(ok);
      expect((await spfOf(permitting(31), undefined, by)).status).to.equal("failed");
    });

    it("a record of ours that includes itself is not followed for ever", async () => {
      const name = `spf${number + 1}.service.example`;
      const by = serviceWith(`v=spf1 include:${name} ip4:203.0.113.1 -all`);
      expect(by.spfInclude).to.equal(name);
      expect((await spfOf(`v=spf1 include:${name} -all`, undefined, by)).reason).to.match(
        /permerror: Too many DNS requests/,
      );
    });

    it("a record of ours with macros alone has to be reached", async () => {
      const by = serviceWith("v=spf1 exists:%{i}.list.service.example -all");
      expect(await spfOf(`v=spf1 include:${by.spfInclude} -all`, undefined, by)).to.deep.equal(ok);
      const { status, reason } = await spfOf(`v=spf1 ~all include:${by.spfInclude}`, undefined, by);
      expect([status, reason?.includes("our mail the SPF result softfail")]).to.deep.equal(["failed", true]);
    });

    it("a record of ours that is not published yet has to be reached; one with a fault makes receivers refuse, and the reason names it", async () => {
      const by = { ...settings, spfInclude: "_spf.nothing.example" };
      const of = (what: string, { spfInclude } = by) =>
        `the SPF record of ${spfInclude}, which the operator of this service answers for, is ${what}: receivers refuse every record that includes it`;
      const including = (name: string | null) => `v=spf1 include:${name} ~all`;
      const missing = { status: "failed", reason: of("missing") };
      expect(await spfOf(including(by.spfInclude), undefined, by)).to.deep.equal(ok);
      expect(await spfOf(including(by.spfInclude), ["192.0.2.1"], by)).to.deep.equal(missing);
      dns.txt(by.spfInclude, "some other text");
      expect(await spfOf(including(by.spfInclude), undefined, by)).to.deep.equal(ok);
      // The customer's record does not get there.
      expect((await spfOf(`v=spf1 ~all include:${by.spfInclude}`, undefined, by)).reason).to.match(
        /SPF result softfail/,
      );
      for (const [record, why] of [
        ["v=spf1 ip4:192.0.2.300 -all", '"ip4:192.0.2.300" is not valid in an SPF record'],
        [`v=spf1 include:spf${number + 2}.service.example -all`, "Too many DNS requests"],
      ] as const) {
        const faulty = serviceWith(record) as typeof by;
        const { status, reason } = await spfOf(including(faulty.spfInclude), undefined, faulty);
        expect([status, reason]).to.deep.equal(["failed", of(`faulty (permerror: ${why})`, faulty)]);
      }
      dns.trouble(by.spfInclude, "servfail");
      expect((await spfOf(including(by.spfInclude), undefined, by)).status).to.equal("temporary_failure");
    });

    it("a fault of the customer's record is not laid to a record of ours that is sound", async () => {
      const { reason } = await spfOf("v=spf1 include:nothing.customer.example include:spf.service.example ~all");
      expect(reason).to.match(/^receivers refuse the SPF record \(permerror: /);
    });

    it("a name on the way that DNS does not answer leaves the record unjudged, unless an address fails before it", async () => {
      dns.trouble("silent.example", "servfail");
      const both = "v=spf1 include:silent.example include:spf.service.example -all";
      expect((await spfOf(both)).status).to.equal("temporary_failure");
      expect((await spfOf("v=spf1 include:spf.service.example include:silent.example -all")).status).to.equal(
        "verified",
      );
      expect((await spfOf("v=spf1 -all include:silent.example")).status).to.equal("failed");
      const by = serviceWith("v=spf1 a:silent.example -all");
      expect((await spfOf(`v=spf1 include:${by.spfInclude} -all`, undefined, by)).status).to.equal("temporary_failure");
    });
  });
});
