import { expect } from "chai";
import { canonicalAddress, networksOf, senderKey } from "#src/mail/in/smtp/addresses.ts";

describe("addresses of SMTP clients", () => {
  it("an SMTP client counts by its IPv4 address or its IPv6 /64", () => {
    const same = [
      ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"],
      ["2001:db8:1:2::1", "2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:0db8:0001:0002::"],
    ];
    for (const group of same) expect(new Set(group.map(senderKey)), group[0]!).to.have.length(1);
    const different = ["192.0.2.1", "192.0.2.2", "2001:db8:1:2::1", "2001:db8:1:3::1", "::1", "0.0.0.1"];
    expect(new Set(different.map(senderKey))).to.have.length(different.length);
    expect(senderKey("2001:db8:1:2::1")).to.equal("2001:db8:1:2::/64");
  });

  it("an SMTP client's address is stored in one spelling", () => {
    expect(canonicalAddress("::ffff:192.0.2.1")).to.equal("192.0.2.1");
    expect(canonicalAddress("2001:DB8:0::1")).to.equal("2001:db8::1");
    expect(canonicalAddress("")).to.equal("");
  });

  it("a network contains an address in any spelling and of either family", () => {
    const networks = networksOf(["127.0.0.0/8", "::1", "10.1.2.3", "2001:db8::/32"]);
    for (const inside of ["127.255.0.1", "::ffff:127.0.0.1", "::1", "10.1.2.3", "2001:db8:ffff::1"])
      expect(networks.has(inside), inside).to.equal(true);
    for (const outside of ["128.0.0.1", "::2", "10.1.2.4", "2001:db9::1", "::ffff:10.1.2.4", "::7f00:1", "", "x"])
      expect(networks.has(outside), outside).to.equal(false);
    expect(networksOf(["0.0.0.0/0"]).has("203.0.113.7")).to.equal(true);
    expect(networksOf([]).has("127.0.0.1")).to.equal(false);
  });
});
