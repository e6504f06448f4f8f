import { generateKeyPairSync } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { expect } from "chai";
import { dkimSign, authenticate as mailauth, sealMessage } from "mailauth";
import { createMailAuthenticator, type MailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { systemClock } from "#src/platform/clock.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { type Case, cases, good, type Signature } from "./cases.ts";

/** The results for a mail. `aligned`: its sender is proven. */
type Verdict = { spf: string; dkim: string; dmarc: string; arc: string; aligned: boolean };

/** Each mail is signed with a key of the test, and each record is looked up at a real DNS server. */
describe("the table of proofs: SPF, DKIM, DMARC, ARC [d13 authentication] [d5 authentication]", () => {
  let dns: DnsServer;
  let pool: ThreadPool;
  let authenticator: MailAuthenticator;
  const pair = (modulusLength = 1024) => {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength });
    return {
      record: `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`,
      privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  };
  const [own, other] = [pair(), pair()];

  const policies: Record<string, string[]> = {
    relaxed: ["v=DMARC1; p=reject"],
    "own.relaxed": ["v=DMARC1; p=reject; adkim=s"],
    strict: ["v=DMARC1; p=reject; adkim=s; aspf=s"],
    strictdkim: ["v=DMARC1; p=reject; adkim=s"],
    strictspf: ["v=DMARC1; p=reject; aspf=s"],
    pnone: ["v=DMARC1; p=none"],
    quarantine: ["v=DMARC1; p=quarantine"],
    subnone: ["v=DMARC1; p=reject; sp=none"],
    subreject: ["v=DMARC1; p=none; sp=reject"],
    pct: ["v=DMARC1; p=reject; pct=0"],
    two: ["v=DMARC1; p=reject", "v=DMARC1; p=none"],
    otherkind: ["v=DMARC2; p=reject"],
    list: ["v=DMARC1; p=reject"],
    evil: ["v=DMARC1; p=none"],
    small: ["v=dmarc1; p=reject"],
    quoted: ['"v=DMARC1; p=reject"'],
    nop: ["v=DMARC1;"],
    badp: ["v=DMARC1; p=rejected"],
    badsp: ["v=DMARC1; p=reject; sp=all"],
    badprua: ["v=DMARC1; p=rejected; rua=mailto:reports@badprua.test"],
    testing: ["v=DMARC1; p=reject; t=y"],
    np: ["v=DMARC1; p=none; np=reject"],
    suffix: ["v=DMARC1; p=reject; psd=y"],
    "three.suffix": ["v=DMARC1; p=reject"],
    big: ["v=DMARC1; p=reject"],
    "unit.big": ["v=DMARC1; p=reject; psd=n"],
    "middle.big": ["v=DMARC1; p=reject"],
    deep: ["v=DMARC1; p=reject"],
    "2.3.4.5.6.7.8.deep": ["v=DMARC1; p=reject; adkim=s"],
    upfails: ["v=DMARC1; p=reject"],
    ...Object.fromEntries(
      ["soft", "neutral", "everybody", "nospf", "twospf", "wrongspf", "loop", "spffails", "notrelaxed"].map((name) => [
        name,
        ["v=DMARC1; p=reject"],
      ]),
    ),
  };
  const withoutPolicy = ["nodmarc", "dmarcfails", "one.suffix", "two.suffix"];
  const records: Record<string, string[]> = {
    soft: ["v=spf1 ip4:192.0.2.1 ~all"],
    neutral: ["v=spf1 ?all"],
    everybody: ["v=spf1 +all"],
    nospf: ["no SPF here"],
    twospf: ["v=spf1 ip4:192.0.2.1 -all", "v=spf1 +all"],
    wrongspf: ["v=spf1 ipv4:192.0.2.1 -all"],
    loop: ["v=spf1 include:loop.test -all"],
    faultbehind: ["v=spf1 ip4:192.0.2.1 ip4:10.0.0.300 -all"],
    faultincluded: ["v=spf1 include:faultbehind.test -all"],
    sixinfour: ["v=spf1 ip4:2001:db8::1 ip4:192.0.2.1 -all"],
    redirects: ["v=spf1 ip4:192.0.2.1 redirect=soft.test redirect=neutral.test"],
    eleven: [`v=spf1 ${Array.from({ length: 10 }, (_, n) => `a:mx${n}.hosts.test`).join(" ")} include:soft.test -all`],
    capitals: ["V=SPF1 A:MX1.HOSTS.TEST. INCLUDE:SOFT.TEST. -ALL"],
    redirected: ["v=spf1 REDIRECT=SOFT.TEST."],
    modifier: ["v=spf1 hint= ip4:192.0.2.1 -all"],
    macro: ["v=spf1 include:soft.list.test -all"],
    "soft.list": ["v=spf1 exists:%{d3}.%{dr}.hosts.test -all"],
    blanks: ["v=spf1  ip4:192.0.2.1  -all  "],
    blankfirst: [" v=spf1 ip4:192.0.2.1 -all"],
    includefails: ["v=spf1 include:spffails.test ip4:192.0.2.1 -all"],
  };

  before(async () => {
    dns = await startDnsServer();
    const resolver = createNodeResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });
    pool = createThreadPool({ firstTryMs: 10_000, slowMs: 60_000 });
    authenticator = createMailAuthenticator({ resolver, clock: systemClock, pool }, { timeMs: 60_000 });
    for (const name of new Set([...Object.keys(policies), ...Object.keys(records), ...withoutPolicy])) {
      const policy = name in records ? ["v=DMARC1; p=reject"] : policies[name];
      if (policy) dns.txt(`_dmarc.${name}.test`, ...policy);
      for (const domain of ["", "mail.", "news.", "a.b."].map((child) => `${child}${name}.test`)) {
        dns.txt(domain, ...(records[name] ?? ["v=spf1 ip4:192.0.2.1 -all"]));
        dns.txt(`s1._domainkey.${domain}`, own.record);
      }
    }
    dns.txt("s1._domainkey.co.uk", own.record);
    dns.txt("_dmarc.co.uk", "v=DMARC1; p=reject");
    dns.txt("revoked._domainkey.relaxed.test", "v=DKIM1; k=rsa; p=");
    dns.txt("garbage._domainkey.relaxed.test", "v=DKIM1; k=rsa; p=Z2FyYmFnZQ==");
    for (let n = 0; n < 10; n++) dns.a(`mx${n}.hosts.test`, "198.51.100.1");
    dns.a("soft.list.test.test.list.soft.hosts.test", "127.0.0.2");
    dns.trouble("_dmarc.news.upfails.test", "servfail");
    for (const name of ["silent._domainkey.relaxed.test", "silent._domainkey.evil.test", "_dmarc.dmarcfails.test"])
      dns.trouble(name, "servfail");
    dns.trouble("spffails.test TXT", "servfail");
  });
  after(async () => {
    await pool.close();
    await dns.close();
  });

  /** One moment for all, because the library reads the clock twice otherwise, which may be two different seconds. */
  const signTime = new Date();

  async function written({ from = "Ann <ann@relaxed.test>", signed = [], changed, sealed }: Case): Promise<Buffer> {
    let mail = [
      `From: ${from}`,
      "To: support@agents.test",
      "Subject: My order",
      "Date: Mon, 16 Nov 2026 10:00:00 +0000",
      "Message-ID: <1@relaxed.test>",
      "",
      "Where is it?",
      "",
    ].join("\r\n");
    for (const signature of signed) mail = (await signatureOf(mail, signature)) + mail;
    mail = changed?.(mail) ?? mail;
    if (!sealed) return Buffer.from(mail);
    const seal = { signingDomain: sealed.by, selector: "s1", privateKey: own.privateKey };
    const headers = await sealMessage(Buffer.from(mail), {
      ...{ ...seal, authResults: sealed.says, cv: "none", signTime },
    } as never);
    return Buffer.concat([headers, Buffer.from(mail)]);
  }

  async function signatureOf(mail: string, signature: Signature): Promise<string> {
    const { by, selector = "s1", fields = "From:To:Subject:Date:Message-ID", length, expiresAfter, forged } = signature;
    const { privateKey } = forged ? other : own;
    const signatureData = [
      { signingDomain: by, selector, privateKey, ...(length !== undefined && { maxBodyLength: length }) },
    ];
    const { signatures, errors } = await dkimSign(mail, {
      ...{ headerList: fields, signatureData, signTime },
      algorithm: signature.algorithm ?? "rsa-sha256",
      canonicalization: signature.canonicalization ?? "relaxed/relaxed",
      ...(expiresAfter !== undefined && { expires: new Date(signTime.getTime() + expiresAfter * 1000) }),
    } as never);
    expect(errors).to.deep.equal([]);
    return signatures;
  }

  const around = ({ envelope = "", ip = good }: Case) => ({
    envelopeFrom: envelope,
    // Without an envelope sender SPF checks the HELO name, which has no record here.
    remote: { ip, helo: "mx.nowhere.test" },
  });

  async function found(each: Case): Promise<Verdict> {
    const raw = await written(each);
    const { envelopeFrom, remote } = around(each);
    const headers = readHeaders(raw, envelopeFrom);
    const sender = { address: headers.from?.address ?? null, fromCount: headers.fromCount };
    const mail = { withRaw: <T>(work: (bytes: Buffer) => Promise<T>) => work(raw), envelopeFrom, remote, turn: "one" };
    const { spf, dkim, dmarc, arc, aligned } = await authenticator.authenticate(mail, sender);
    return { spf, dkim, dmarc, arc: arc ?? "none", aligned };
  }

  for (const [group, lines] of Object.entries(cases)) {
    describe(group, () => {
      for (const each of lines)
        it(`the proof of ${group}: ${each.name}: ${each.found}`, async () => {
          const { spf, dkim, dmarc, arc, aligned } = await found(each);
          expect(`${spf} ${dkim} ${dmarc} ${arc} → ${aligned ? "proven" : "not"}`).to.equal(each.found);
        });
    });
  }

  it("the authentication library alone would pass exactly the mails that strict policies refuse", async () => {
    const taken: string[] = [];
    const strict = cases["strict alignment"]!.filter(({ found }) => found.endsWith("→ not"));
    for (const each of strict) {
      const { envelopeFrom, remote } = around(each);
      const { dmarc } = (await mailauth(await written(each), {
        ...{ ip: remote.ip, helo: remote.helo, sender: envelopeFrom, mta: "localhost", disableBimi: true },
        resolver: createNodeLookUp(dns.address),
      } as never)) as any;
      if (dmarc.status.result === "pass") taken.push(each.name);
    }
    expect(taken, "what the library alone would have let pass").to.deep.equal(strict.map(({ name }) => name));
  });
});

/** Returns a look-up function as the library expects it. */
function createNodeLookUp(server: string) {
  const resolver = new Resolver();
  resolver.setServers([server]);
  return (name: string, type: string) => resolver.resolve(name, type);
}
