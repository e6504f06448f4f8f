import { expect } from "chai";
import { comparedDomains, concludeFindings, type FromDomain } from "#src/mail/in/authentication/concludeFindings.ts";
import type { DmarcPolicy } from "#src/mail/in/authentication/dmarc.ts";
import type { DkimResult, FieldCounts, Findings, SpfResult } from "#src/mail/in/authentication/findings.ts";

const policy = (adkim: "r" | "s" = "r", aspf: "r" | "s" = "r"): DmarcPolicy => ({
  kind: "policy",
  at: "example.com",
  strictDkim: adkim === "s",
  strictSpf: aspf === "s",
});
const counts = (to = 0, cc = 0, replyTo = 0): FieldCounts => ({ to, cc, "reply-to": replyTo });
const none: DmarcPolicy = { kind: "none" };
const unknown: DmarcPolicy = { kind: "temperror" };

type Case = [
  name: string,
  from: string,
  dkim: readonly (readonly [DkimResult, string])[],
  spf: readonly [SpfResult, string],
  policy: DmarcPolicy,
  dmarc: string,
  aligned: boolean,
];

const noSpf = ["none", ""] as const;

/** Organizational domains as a walk up the DNS tree finds them: of these names, the first two have records for all below them. */
const organizationOf = (domain: string): string | undefined =>
  domain === "silent.example.com"
    ? undefined
    : (["example.com", "example.net"].find((name) => domain === name || domain.endsWith(`.${name}`)) ?? domain);

/** The From domain with the organizational domains that decide. */
const fromDomain = (address: string | null, findings: Findings, policy: DmarcPolicy): FromDomain => ({
  policy,
  organizations: new Map(
    comparedDomains(address ?? "", findings, policy).map((domain) => [domain, organizationOf(domain)]),
  ),
});

/** RFC 9989, 4.4 and 4.10.2 as a table: which domain proves which, relaxed and strict. */
const cases: Case[] = [
  ["DKIM of the same domain", "example.com", [["pass", "example.com"]], noSpf, policy(), "pass", true],
  ["DKIM of the same domain, strict", "example.com", [["pass", "example.com"]], noSpf, policy("s"), "pass", true],
  ["DKIM of the parent", "news.example.com", [["pass", "example.com"]], noSpf, policy(), "pass", true],
  ["DKIM of the parent, strict", "news.example.com", [["pass", "example.com"]], noSpf, policy("s"), "fail", false],
  ["DKIM of a child", "example.com", [["pass", "mail.example.com"]], noSpf, policy(), "pass", true],
  ["DKIM of a child, strict", "example.com", [["pass", "mail.example.com"]], noSpf, policy("s"), "fail", false],
  ["DKIM of a sibling", "a.example.com", [["pass", "b.example.com"]], noSpf, policy(), "pass", true],
  ["DKIM of a sibling, strict", "a.example.com", [["pass", "b.example.com"]], noSpf, policy("s"), "fail", false],
  ["DKIM of a stranger", "example.com", [["pass", "example.net"]], noSpf, policy(), "fail", false],
  ["DKIM of a name that ends alike", "example.com", [["pass", "notexample.com"]], noSpf, policy(), "fail", false],
  ["DKIM of the public suffix", "example.co.uk", [["pass", "co.uk"]], noSpf, policy(), "fail", false],
  ["DKIM of a neighbour under a public suffix", "a.co.uk", [["pass", "b.co.uk"]], noSpf, policy(), "fail", false],
  ["DKIM of a neighbour at a host of many", "a.github.io", [["pass", "b.github.io"]], noSpf, policy(), "fail", false],
  ["DKIM that failed", "example.com", [["fail", "example.com"]], noSpf, policy(), "fail", false],
  [
    "one good DKIM among bad ones",
    "example.com",
    [
      ["fail", "example.com"],
      ["pass", "list.example"],
      ["pass", "example.com"],
    ],
    noSpf,
    policy("s", "s"),
    "pass",
    true,
  ],
  ["DKIM in other letters", "example.com", [["pass", "EXAMPLE.com"]], noSpf, policy("s"), "pass", true],
  ["DKIM in punycode", "bücher.example", [["pass", "xn--bcher-kva.example"]], noSpf, policy("s"), "pass", true],
  ["SPF of the same domain", "example.com", [], ["pass", "example.com"], policy(), "pass", true],
  ["SPF of the same domain, strict", "example.com", [], ["pass", "example.com"], policy("r", "s"), "pass", true],
  ["SPF of a child", "example.com", [], ["pass", "bounces.example.com"], policy(), "pass", true],
  ["SPF of a child, strict", "example.com", [], ["pass", "bounces.example.com"], policy("r", "s"), "fail", false],
  ["SPF of a stranger", "example.com", [], ["pass", "mailer.example"], policy(), "fail", false],
  ["SPF that is soft", "example.com", [], ["softfail", "example.com"], policy(), "fail", false],
  [
    "strict SPF, relaxed DKIM of a child",
    "example.com",
    [["pass", "m.example.com"]],
    ["pass", "b.example.com"],
    policy("r", "s"),
    "pass",
    true,
  ],
  [
    "strict DKIM, relaxed SPF of a child",
    "example.com",
    [["pass", "m.example.com"]],
    ["pass", "b.example.com"],
    policy("s", "r"),
    "pass",
    true,
  ],
  [
    "both of a child, both strict",
    "example.com",
    [["pass", "m.example.com"]],
    ["pass", "b.example.com"],
    policy("s", "s"),
    "fail",
    false,
  ],
  [
    "DKIM of a child that DNS does not place",
    "example.com",
    [["pass", "silent.example.com"]],
    noSpf,
    policy(),
    "temperror",
    false,
  ],
  [
    "SPF of a child that DNS does not place",
    "example.com",
    [],
    ["pass", "silent.example.com"],
    policy(),
    "temperror",
    false,
  ],
  ["no policy, DKIM of a child", "example.com", [["pass", "m.example.com"]], noSpf, none, "none", false],
  ["no policy, DKIM of the same domain", "example.com", [["pass", "example.com"]], noSpf, none, "none", true],
  ["no policy, SPF of the same domain", "example.com", [], ["pass", "example.com"], none, "none", true],
  ["no policy, SPF of a stranger", "example.com", [], ["pass", "mailer.example"], none, "none", false],
  ["no policy, nothing", "example.com", [], noSpf, none, "none", false],
  ["nobody knows the policy", "example.com", [["pass", "example.com"]], noSpf, unknown, "temperror", false],
  ["nobody knows the key", "example.com", [["temperror", "example.com"]], noSpf, policy(), "temperror", false],
  ["nobody knows a stranger's key", "example.com", [["temperror", "list.example"]], noSpf, policy(), "fail", false],
  [
    "nobody knows SPF, DKIM passes",
    "example.com",
    [["pass", "example.com"]],
    ["temperror", "example.com"],
    policy(),
    "pass",
    true,
  ],
  ["nobody knows SPF", "example.com", [], ["temperror", "example.com"], policy(), "temperror", false],
  ["names without a dot", "localhost", [["pass", "other"]], ["pass", ""], none, "none", false],
];

describe("judge [d13 authentication] [d5 authentication]", () => {
  const findings = (from: string, [, , dkim, spf]: Case): Findings => ({
    spf: { result: spf[0], domain: spf[1] },
    signatures: dkim.map(([result, domain]) => ({ result, domain, signed: counts() })),
    occurring: counts(),
    arc: "none",
    from: [from],
  });

  for (const each of cases) {
    const [name, domain, , , asked, dmarc, aligned] = each;
    it(`the sender check of ${name}: DMARC ${dmarc}, ${aligned ? "proven" : "not proven"}`, () => {
      const address = `ann@${domain}`;
      const these = findings(address, each);
      const found = concludeFindings({ address, fromCount: 1 }, these, fromDomain(address, these, asked));
      expect({ dmarc: found.dmarc, aligned: found.aligned }).to.deep.equal({ dmarc, aligned });
    });
  }

  const [good] = cases as [Case];

  it("a mail proves nothing if it has more than one From or two readers read different senders", () => {
    const address = "ann@example.com";
    const proven = findings(address, good);
    const at = fromDomain(address, proven, policy());
    expect(concludeFindings({ address, fromCount: 1 }, proven, at).aligned).to.equal(true);
    const forged: [sender: { address: string | null; fromCount: number }, from: string[]][] = [
      [{ address, fromCount: 2 }, [address, "eve@evil.example"]],
      [{ address, fromCount: 2 }, [address]],
      [{ address, fromCount: 1 }, [address, "eve@evil.example"]],
      [{ address, fromCount: 1 }, ["eve@evil.example"]],
      [{ address, fromCount: 1 }, ["ann@sub.example.com"]],
      [{ address, fromCount: 1 }, ["eve@example.com"]],
      [{ address, fromCount: 1 }, []],
      [{ address: null, fromCount: 0 }, []],
      [{ address: null, fromCount: 1 }, [address]],
    ];
    for (const [sender, from] of forged) {
      for (const asked of [policy(), none]) {
        const found = concludeFindings(sender, { ...proven, from }, fromDomain(sender.address, proven, asked));
        expect(found.aligned, JSON.stringify([sender, from, asked])).to.equal(false);
        expect(found.dmarc).not.to.equal("pass");
      }
    }
  });

  it("a check with several signatures reports the best result", () => {
    const found = (...results: DkimResult[]) =>
      concludeFindings(
        { address: "ann@example.com", fromCount: 1 },
        {
          ...findings("ann@example.com", good),
          signatures: results.map((result) => ({ result, domain: "list.example", signed: counts() })),
        },
        { policy: policy(), organizations: new Map() },
      ).dkim;
    expect(found()).to.equal("none");
    expect(found("fail", "pass")).to.equal("pass");
    expect(found("fail", "temperror")).to.equal("temperror");
    expect(found("neutral", "fail")).to.equal("fail");
  });

  describe("the address fields that a proof covers", () => {
    const covered = (
      occurring: FieldCounts,
      signatures: [DkimResult, string, FieldCounts][],
      { asked = policy(), spf = { result: "none", domain: "" } }: { asked?: DmarcPolicy; spf?: Findings["spf"] } = {},
    ) => {
      const address = "ann@news.example.com";
      const these: Findings = {
        ...{ spf, arc: "none", from: [address], occurring },
        signatures: signatures.map(([result, domain, signed]) => ({ result, domain, signed })),
      };
      return concludeFindings({ address, fromCount: 1 }, these, fromDomain(address, these, asked)).covers;
    };

    it("an address field is covered if an aligned passing signature signs it as often as it occurs", () => {
      const all = counts(1, 1, 1);
      expect(covered(all, [["pass", "example.com", all]])).to.deep.equal(["to", "cc", "reply_to"]);
      expect(covered(all, [["pass", "example.com", counts(1, 0, 1)]])).to.deep.equal(["to", "reply_to"]);
      expect(covered(counts(1, 0, 2), [["pass", "example.com", counts(1, 0, 1)]])).to.deep.equal(["to"]);
      expect(covered(counts(2, 0, 2), [["pass", "example.com", counts(2, 0, 3)]])).to.deep.equal(["to", "reply_to"]);
    });

    it("an address field is not covered by no, a foreign or a failing signature, or by two that each sign one of two", () => {
      const [one, two] = [counts(1), counts(2)];
      expect(covered(one, [["pass", "example.com", counts()]])).to.equal(undefined);
      expect(covered(counts(), [["pass", "example.com", one]])).to.equal(undefined);
      const stranger: [DkimResult, string, FieldCounts] = ["pass", "list.example", one];
      expect(covered(one, [["pass", "example.com", counts()], stranger])).to.equal(undefined);
      const failing: [DkimResult, string, FieldCounts] = ["fail", "example.com", one];
      expect(covered(one, [["pass", "example.com", counts()], failing])).to.equal(undefined);
      const half: [DkimResult, string, FieldCounts] = ["pass", "example.com", one];
      expect(covered(two, [half, half])).to.equal(undefined);
    });

    it("an address field is not covered by a parent domain under strict alignment, nor by SPF", () => {
      const one = counts(1);
      const spf = { result: "pass", domain: "news.example.com" } as const;
      expect(covered(one, [["pass", "example.com", one]], { asked: policy("s"), spf })).to.equal(undefined);
      expect(covered(one, [["pass", "news.example.com", one]], { asked: policy("s"), spf })).to.deep.equal(["to"]);
      expect(covered(one, [], { asked: policy(), spf })).to.equal(undefined);
    });
  });
});
