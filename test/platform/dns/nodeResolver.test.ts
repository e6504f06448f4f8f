import { expect } from "chai";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { withinTime } from "#src/platform/dns/resolver.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";

describe("looking names up in DNS", () => {
  let dns: DnsServer;
  before(async () => {
    dns = await startDnsServer();
  });
  after(() => dns.close());

  const resolver = (timeoutMs = 60_000) => createNodeResolver({ servers: [dns.address], timeoutMs, tries: 1 });
  const found = (...records: unknown[]) => ({ outcome: "found", records });

  it("the DNS resolver finds records of each type", async () => {
    dns.txt("all.test", "one", "two");
    dns.mx("all.test", [10, "mx1.all.test"], [20, "mx2.all.test"]);
    dns.ns("all.test", "ns.all.test");
    dns.a("all.test", "192.0.2.1");
    dns.aaaa("all.test", "2001:db8:0:0:0:0:0:1");
    dns.cname("alias.test", "all.test");
    dns.ptr("1.2.0.192.in-addr.arpa", "mx1.all.test");
    const { txt, mx, ns, a, aaaa, cname, ptr } = resolver();
    expect(await txt("all.test")).to.deep.equal(found("one", "two"));
    expect(await mx("ALL.test.")).to.deep.equal(
      found({ exchange: "mx1.all.test", priority: 10 }, { exchange: "mx2.all.test", priority: 20 }),
    );
    expect(await ns("all.test")).to.deep.equal(found("ns.all.test"));
    expect(await a("all.test")).to.deep.equal(found("192.0.2.1"));
    expect(await aaaa("all.test")).to.deep.equal(found("2001:db8::1"));
    expect(await cname("alias.test")).to.deep.equal(found("all.test"));
    expect(await ptr("1.2.0.192.in-addr.arpa")).to.deep.equal(found("mx1.all.test"));
  });

  it("the DNS resolver joins the strings of a split TXT record, and follows a CNAME", async () => {
    dns.txt("split.test", ["v=spf1 ", "include:", "a.test ~all"], `p=${"k".repeat(600)}`);
    dns.cname("www.split.test", "split.test");
    const all = found("v=spf1 include:a.test ~all", `p=${"k".repeat(600)}`);
    expect(await resolver().txt("split.test")).to.deep.equal(all);
    expect(await resolver().txt("www.split.test")).to.deep.equal(all);
  });

  it("the DNS resolver repeats a truncated answer by TCP", async () => {
    dns.txt("long.test", "told by TCP");
    dns.trouble("long.test", "truncated");
    expect(await resolver().txt("long.test")).to.deep.equal(found("told by TCP"));
    expect(dns.asked.filter(({ name }) => name === "long.test").map(({ by }) => by)).to.deep.equal(["udp", "tcp"]);
  });

  it("the DNS resolver distinguishes a missing record from a missing answer", async () => {
    dns.a("there.test", "192.0.2.1");
    dns.cname("dangling.test", "nowhere.test");
    const { txt } = resolver();
    expect(await txt("nowhere.test"), "NXDOMAIN").to.deep.equal({ outcome: "missing" });
    expect(await txt("there.test"), "no such type").to.deep.equal({ outcome: "missing" });
    expect(await txt("dangling.test"), "a CNAME to nowhere").to.deep.equal({ outcome: "missing" });
    for (const [kind, reason] of [
      ["servfail", /SERVFAIL/],
      ["refused", /refused/],
      ["silent", /in time/],
    ] as const) {
      dns.trouble("ill.test", kind);
      const lookup = await (kind === "silent" ? resolver(150).txt : txt)("ill.test");
      expect(lookup.outcome, kind).to.equal("temporary_failure");
      expect((lookup as { reason: string }).reason, kind).to.match(reason);
    }
    const nobody = createNodeResolver({ servers: ["127.0.0.1:9"], timeoutMs: 150, tries: 1 });
    expect(await nobody.txt("there.test")).to.have.property("outcome", "temporary_failure");
    expect(await txt(`${"a".repeat(64)}.test`), "no name at all")
      .to.have.property("outcome")
      .not.equal("found");
  });

  it("the DNS resolver asks again each time, so that a changed record is seen at once", async () => {
    const { txt } = resolver();
    dns.txt("changing.test", "old");
    expect(await txt("changing.test")).to.deep.equal(found("old"));
    dns.txt("changing.test", "new");
    expect(await txt("changing.test")).to.deep.equal(found("new"));
    dns.remove("changing.test");
    expect(await txt("changing.test")).to.deep.equal({ outcome: "missing" });
  });

  it("the DNS resolver ends in time, whichever server is silent", async () => {
    dns.trouble("slow.test", "silent");
    const patient = createNodeResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 4 });
    const late = { outcome: "temporary_failure", reason: "no answer in time" };
    expect(await withinTime(patient, () => 20).txt("slow.test")).to.deep.equal(late);
    expect(await withinTime(patient, () => -1).mx("slow.test")).to.deep.equal(late);
  });
});
