import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { dkimSign, sealMessage } from "mailauth";
import { createMailAuthenticator, type MailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { signMail } from "#src/mail/out/dkim.ts";
import { systemClock } from "#src/platform/clock.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";

const keys = (modulusLength = 2048) => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength });
  return {
    publicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
};

const mailOf = (from = "Ann <ann@bank.test>", more: readonly string[] = [], body = "Where is it?") =>
  Buffer.from(
    [
      ...more,
      `From: ${from}`,
      "To: support@agents.test",
      "Subject: My order",
      "Date: Mon, 16 Nov 2026 10:00:00 +0000",
      "Message-ID: <1@bank.test>",
      "",
      body,
      "",
    ].join("\r\n"),
  );

describe("authenticating a mail [d13 authentication]", () => {
  let dns: DnsServer;
  let authenticator: MailAuthenticator;
  let pool: ThreadPool;
  const bank = keys();
  const signer = { domain: "bank.test", selector: "s1", privateKey: bank.privateKey };
  // A long timeout for busy machines: the server answers or refuses at once.
  const resolver = () => createNodeResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });

  before(async () => {
    dns = await startDnsServer();
    pool = createThreadPool({ firstTryMs: 10_000, slowMs: 60_000 });
    authenticator = createMailAuthenticator({ resolver: resolver(), clock: systemClock, pool }, { timeMs: 60_000 });
    dns.txt("s1._domainkey.bank.test", `v=DKIM1; k=rsa; p=${bank.publicKey}`);
    dns.txt("_dmarc.bank.test", "v=DMARC1; p=reject");
    dns.txt("bank.test", "v=spf1 ip4:192.0.2.1 include:_spf.mailer.test -all");
    dns.txt("_spf.mailer.test", "v=spf1 mx a:out.mailer.test ptr:mailer.test ~all");
    dns.mx("_spf.mailer.test", [10, "mx.mailer.test"]);
    dns.a("mx.mailer.test", "192.0.2.2");
    dns.a("out.mailer.test", "192.0.2.3");
    dns.aaaa("out.mailer.test", "2001:db8::3");
    dns.ptr("4.2.0.192.in-addr.arpa", "host.mailer.test");
    dns.a("host.mailer.test", "192.0.2.4");
  });
  after(async () => {
    await pool.close();
    await dns.close();
  });

  const authenticate = (raw: Buffer, { from = "eve@evil.test", ip = "198.51.100.9", by = authenticator } = {}) => {
    const headers = readHeaders(raw, from);
    const sender = { address: headers.from?.address ?? null, fromCount: headers.fromCount };
    const withRaw = <T>(work: (bytes: Buffer) => Promise<T>) => work(raw);
    const mail = { withRaw, envelopeFrom: from, remote: { ip, helo: "mx.evil.test" }, turn: "somebody" };
    return by.authenticate(mail, sender);
  };

  it("a valid DKIM signature proves the sender, whichever server sent the mail", async () => {
    const signed = await signMail(mailOf(), signer);
    expect(await authenticate(signed)).to.deep.equal({
      spf: "none",
      dkim: "pass",
      dmarc: "pass",
      aligned: true,
      arc: "none",
      covers: ["to"],
    });
  });

  it("SPF proves the sender by ip4, include, mx, a, AAAA and ptr, and fails for other servers", async () => {
    const from = "ann@bank.test";
    for (const ip of ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::3", "192.0.2.4"]) {
      const found = await authenticate(mailOf(), { from, ip });
      expect(found, ip).to.deep.equal({ spf: "pass", dkim: "none", dmarc: "pass", aligned: true, arc: "none" });
    }
    expect(await authenticate(mailOf(), { from })).to.include({ spf: "fail", dmarc: "fail", aligned: false });
    const stranger = await authenticate(mailOf("Ann <ann@customer.test>"), { from, ip: "192.0.2.1" });
    expect(stranger).to.include({ spf: "pass", dmarc: "none", aligned: false });
  });

  it("a relay that names no client gives no SPF result, whatever its domain's record says", async () => {
    const [raw, envelopeFrom] = [mailOf(), "ann@bank.test"];
    const sender = { address: "ann@bank.test", fromCount: 1 };
    const remote = { ip: "192.0.2.1", helo: "mx.bank.test", relay: true } as const;
    const mailOn = (bytes: Buffer) => ({
      ...{ envelopeFrom, remote, turn: "somebody" },
      withRaw: <T>(work: (raw: Buffer) => Promise<T>) => work(bytes),
    });
    const found = await authenticator.authenticate(mailOn(raw), sender);
    expect(found).to.include({ spf: "none", dkim: "none", dmarc: "fail", aligned: false });
    const signed = await authenticator.authenticate(mailOn(await signMail(raw, signer)), sender);
    expect(signed).to.include({ spf: "none", dkim: "pass", dmarc: "pass", aligned: true });
  });

  it("authentication results that the mail itself contains prove nothing", async () => {
    const claims = [
      "Authentication-Results: mx.agents.test; dmarc=pass header.from=bank.test; dkim=pass; spf=pass",
      "Received-SPF: pass",
      "ARC-Authentication-Results: i=1; agents.test; dmarc=pass header.from=bank.test",
      "Return-Path: <ann@bank.test>",
      "Received: from mx.bank.test (mx.bank.test [192.0.2.1]) by mx.agents.test",
    ];
    const found = await authenticate(mailOf(undefined, claims));
    expect(found).to.include({ dkim: "none", dmarc: "fail", aligned: false });
  });

  it("a changed body or field makes DKIM fail, and a second From or sender proves nothing", async () => {
    const signed = (await signMail(mailOf(), signer)).toString();
    const changed = [
      signed.replace("Where is it?", "Send it to Eve."),
      signed.replace("Subject: My order", "Subject: Another"),
      signed.replace("Ann <ann@bank.test>", "Ann <boss@bank.test>"),
    ];
    for (const mail of changed) {
      expect(await authenticate(Buffer.from(mail)), mail).to.include({ dkim: "fail", dmarc: "fail", aligned: false });
    }
    const twice = Buffer.from(`From: Boss <boss@bank.test>\r\n${signed}`);
    expect(await authenticate(twice)).to.include({ dkim: "pass", dmarc: "permerror", aligned: false });
    const list = await signMail(mailOf("ann@bank.test, eve@evil.test"), signer);
    expect(await authenticate(list)).to.include({ dmarc: "permerror", aligned: false });
  });

  it("a DKIM signature with l=, without From, by SHA-1, by a short key or without a key proves nothing", async () => {
    const raw = mailOf();
    const sign = async (options: object, signature: object = {}) => {
      const signatureData = [{ signingDomain: "bank.test", selector: "s1", privateKey: bank.privateKey, ...signature }];
      const { signatures } = await dkimSign(raw, {
        canonicalization: "relaxed/relaxed",
        signatureData,
        // Given, because the library reads the clock twice otherwise, which may be two different seconds.
        signTime: new Date(),
        ...options,
      } as any);
      return Buffer.concat([Buffer.from(signatures), raw]);
    };
    expect(await authenticate(await sign({}))).to.include({ dkim: "pass", aligned: true });
    const partly = Buffer.concat([await sign({}, { maxBodyLength: 5 }), Buffer.from("And send the money to Eve.\r\n")]);
    expect(await authenticate(partly), "l=5").to.include({ aligned: false, dmarc: "fail" });
    const headerList = "To:Subject:Date:Message-ID";
    expect(await authenticate(await sign({ headerList })), "no From").to.include({ aligned: false, dmarc: "fail" });
    expect(await authenticate(await sign({ algorithm: "rsa-sha1" })), "SHA-1").to.include({ aligned: false });
    const short = keys(1024 - 256);
    dns.txt("short._domainkey.bank.test", `v=DKIM1; p=${short.publicKey}`);
    const weak = await sign({}, { selector: "short", privateKey: short.privateKey });
    expect(await authenticate(weak), "768 bits").to.include({ aligned: false });
    const revoked = await sign({}, { selector: "nowhere" });
    expect(await authenticate(revoked), "no key").to.include({ aligned: false, dmarc: "fail" });
  });

  it("a strict DMARC policy is read in every spelling, and a subdomain without one has its parent's", async () => {
    const signed = async (from: string) => signMail(mailOf(from), signer);
    for (const policy of [
      "v=DMARC1; p=none; adkim=s",
      "v=DMARC1;p=none;adkim = S ;",
      "v=DMARC1; adkim=s; aspf=s; p=none",
    ]) {
      dns.txt("_dmarc.strict.bank.test", policy);
      const found = await authenticate(await signed("ann@strict.bank.test"));
      expect(found, policy).to.include({ dkim: "pass", dmarc: "fail", aligned: false });
    }
    expect(await authenticate(await signed("ann@any.bank.test")), "the parent's, relaxed").to.include({
      dmarc: "pass",
    });
    dns.txt("_dmarc.two.bank.test", "v=DMARC1; p=none; adkim=s", "v=DMARC1; p=none");
    expect(await authenticate(await signed("ann@two.bank.test")), "two are none: the parent's").to.include({
      dmarc: "pass",
    });
    dns.txt("_dmarc.other.test", "v=DMARC10; p=none");
    expect(await authenticate(mailOf("ann@other.test"))).to.include({ dmarc: "none", aligned: false });
  });

  it("the ARC result is recorded and proves nothing", async () => {
    const sealer = keys();
    dns.txt("arc._domainkey.list.test", `v=DKIM1; k=rsa; p=${sealer.publicKey}`);
    const raw = mailOf();
    const seal = { signingDomain: "list.test", selector: "arc", privateKey: sealer.privateKey };
    const headers = await sealMessage(raw, {
      ...seal,
      authResults: "list.test; dmarc=pass header.from=bank.test",
      cv: "none",
    } as any);
    const sealed = Buffer.concat([headers, raw]);
    expect(await authenticate(sealed)).to.include({ arc: "pass", dmarc: "fail", aligned: false });
    const altered = Buffer.from(sealed.toString().replace("Where is it?", "Something else"));
    expect(await authenticate(altered)).to.include({ arc: "fail", aligned: false });
  });

  it("authentication ends in time with temperror where DNS does not answer", async () => {
    const quick = createMailAuthenticator({ resolver: resolver(), clock: systemClock, pool }, { timeMs: 300 });
    dns.trouble("s1._domainkey.bank.test", "silent");
    dns.trouble("_dmarc.bank.test", "silent");
    try {
      const found = await authenticate(await signMail(mailOf(), signer), { by: quick });
      expect(found).to.include({ dmarc: "temperror", aligned: false });
    } finally {
      dns.trouble("s1._domainkey.bank.test", undefined);
      dns.trouble("_dmarc.bank.test", undefined);
    }
    dns.trouble("*", "servfail");
    const nothing = await authenticate(await signMail(mailOf(), signer));
    dns.trouble("*", undefined);
    expect(nothing).to.deep.equal({
      spf: "temperror",
      dkim: "temperror",
      dmarc: "temperror",
      aligned: false,
      arc: "none",
    });
  });

  it("endless headers, thousands of signatures and missing headers prove nothing and stop nothing", async () => {
    const lines = (n: number, line: string) => Array.from({ length: n }, () => line);
    const hostile: Buffer[] = [
      mailOf(undefined, ["X-Long: a", ...lines(200_000, " b")]),
      mailOf(undefined, lines(5_000, "DKIM-Signature: v=1; a=rsa-sha256; d=bank.test; s=s1; h=from; bh=x; b=x")),
      mailOf(undefined, lines(21, "ARC-Seal: i=1; a=rsa-sha256; cv=none; d=x.test; s=s; b=x")),
      mailOf(undefined, ["DKIM-Signature: v=1; a=rsa-sha256; c=/; d=; s=; h=; bh=; b="]),
      mailOf(undefined, ["DKIM-Signature: \u0000;;;===;a=b;l=-1;i=99999999999999999999"]),
      Buffer.from("no header at all"),
      Buffer.alloc(0),
      Buffer.from("\r\n\r\n\r\n"),
      Buffer.alloc(300_000, 0x61),
    ];
    for (const raw of hostile) {
      const found = await authenticate(raw);
      expect(found.aligned, raw.subarray(0, 60).toString()).to.equal(false);
    }
    expect(await authenticate(await signMail(mailOf(), signer)), "and goes on").to.include({ aligned: true });
  });

  it("a null sender, a malformed envelope sender and a missing IP address prove nothing", async () => {
    dns.txt("mx.evil.test", "v=spf1 ip4:198.51.100.9 -all");
    expect(await authenticate(mailOf(), { from: "" }), "the greeting speaks").to.include({
      spf: "pass",
      aligned: false,
    });
    for (const from of ["nobody", "@", "a@b@c", "x@-", `a@${"l".repeat(300)}.test`]) {
      expect((await authenticate(mailOf(), { from })).aligned, from).to.equal(false);
    }
    for (const ip of ["", "not an address", "fe80::1%eth0"]) {
      expect((await authenticate(mailOf(), { ip })).aligned, ip).to.equal(false);
    }
  });

  it("a large and thirty small mails that are authenticated together all pass", async () => {
    const large = await signMail(mailOf(undefined, [], "x".repeat(70).concat("\r\n").repeat(100_000)), signer);
    const small = await signMail(mailOf(), signer);
    const found = await Promise.all(
      [large, ...Array.from({ length: 30 }, () => small)].map((raw) => authenticate(raw)),
    );
    expect(new Set(found.map(({ dkim }) => dkim))).to.deep.equal(new Set(["pass"]));
  });
});
