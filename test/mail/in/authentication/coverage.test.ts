import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { dkimSign } from "mailauth";
import { createMailAuthenticator, type MailAuthenticator } from "#src/mail/in/authentication/authenticator.ts";
import { withProvenDomains } from "#src/mail/in/authentication/devProven.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import { systemClock } from "#src/platform/clock.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { createThreadPool, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";

/** Signed mails, changed as an attacker who replays them could. */
describe("address fields that a signature covers besides From [d14 grants]", () => {
  let dns: DnsServer;
  let authenticator: MailAuthenticator;
  let pool: ThreadPool;
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

  before(async () => {
    dns = await startDnsServer();
    // A long timeout for busy machines: the server answers at once.
    const resolver = createNodeResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });
    pool = createThreadPool({ firstTryMs: 10_000, slowMs: 60_000 });
    authenticator = createMailAuthenticator({ resolver, clock: systemClock, pool }, { timeMs: 60_000 });
    const spki = publicKey.export({ type: "spki", format: "der" }).toString("base64");
    dns.txt("s1._domainkey.bank.test", `v=DKIM1; k=rsa; p=${spki}`);
    dns.txt("s1._domainkey.mail.bank.test", `v=DKIM1; k=rsa; p=${spki}`);
    dns.txt("s1._domainkey.list.test", `v=DKIM1; k=rsa; p=${spki}`);
    dns.txt("_dmarc.bank.test", "v=DMARC1; p=reject");
    dns.txt("_dmarc.strict.test", "v=DMARC1; p=reject; adkim=s");
    dns.txt("s1._domainkey.mail.strict.test", `v=DKIM1; k=rsa; p=${spki}`);
    dns.txt("strict.test", "v=spf1 ip4:192.0.2.1 -all");
    dns.txt("bank.test", "v=spf1 ip4:192.0.2.1 -all");
  });
  after(async () => {
    await pool.close();
    await dns.close();
  });

  /** Given, because the library reads the clock twice otherwise, which may be two different seconds. */
  const signTime = new Date();

  const mailWith = (...fields: string[]) =>
    [
      ...fields,
      "Subject: My order",
      "Date: Mon, 16 Nov 2026 10:00:00 +0000",
      "Message-ID: <1@bank.test>",
      "",
      "Where is it?",
      "",
    ].join("\r\n");

  /** Signs these fields. mailauth signs every occurrence of a name. */
  async function signed(mail: string, fields: string, signingDomain = "bank.test"): Promise<string> {
    const signatureData = [{ signingDomain, selector: "s1", privateKey: pem }];
    const { signatures, errors } = await dkimSign(mail, { headerList: fields, signatureData, signTime } as never);
    expect(errors).to.deep.equal([]);
    return signatures + mail;
  }

  type Came = { from?: string; ip?: string; by?: typeof authenticator };

  async function found(mail: string, { from = "eve@evil.test", ip = "198.51.100.9", by = authenticator }: Came = {}) {
    const raw = Buffer.from(mail);
    const headers = readHeaders(raw, from);
    const sender = { address: headers.from?.address ?? null, fromCount: headers.fromCount };
    const { dmarc, covers } = await by.authenticate(
      { withRaw: (work) => work(raw), envelopeFrom: from, remote: { ip, helo: "mx.evil.test" }, turn: "somebody" },
      sender,
    );
    return { dmarc, covers: covers ?? [] };
  }

  const from = "From: Ann <ann@bank.test>";
  const to = "To: support@agents.test";
  const cc = "Cc: carol@bank.test";
  const replyTo = "Reply-To: sales@bank.test";
  const evil = "Reply-To: eve@evil.test";

  it("To, Cc and Reply-To are covered exactly if they are signed", async () => {
    const mail = mailWith(from, to, cc, replyTo);
    const cases: [string, string[]][] = [
      ["From:To:Cc:Reply-To:Subject", ["to", "cc", "reply_to"]],
      ["From:To:Subject", ["to"]],
      ["From:Subject", []],
      ["From:Reply-To", ["reply_to"]],
    ];
    for (const [fields, covers] of cases) {
      expect(await found(await signed(mail, fields)), fields).to.deep.equal({ dmarc: "pass", covers });
    }
  });

  it("a Reply-To added above or below the signed fields is not covered", async () => {
    const plain = await signed(mailWith(from, to), "From:To:Subject");
    expect(await found(`${evil}\r\n${plain}`)).to.deep.equal({ dmarc: "pass", covers: ["to"] });
    const own = await signed(mailWith(from, to, replyTo), "From:To:Reply-To:Subject");
    expect(await found(`${evil}\r\n${own}`)).to.deep.equal({ dmarc: "pass", covers: ["to"] });
    // Fields are verified from the bottom up, so the added one is compared with the signature and does not match.
    expect(await found(own.replace("\r\n\r\n", `\r\n${evil}\r\n\r\n`))).to.deep.equal({ dmarc: "fail", covers: [] });
  });

  it("a Reply-To whose name is folded or followed by a blank before its colon does not make the added one covered", async () => {
    const own = await signed(mailWith(from, to, replyTo), "From:To:Reply-To:Subject");
    const hidden = own.replace("Reply-To: sales", "Reply-To\r\n : sales");
    expect((await found(`${evil}\r\n${hidden}`)).covers).not.to.include("reply_to");
    const spaced = own.replace("Reply-To: sales", "REPLY-TO : sales");
    expect((await found(`${evil}\r\n${spaced}`)).covers).not.to.include("reply_to");
  });

  it("a field that occurs twice is covered if both are signed", async () => {
    const twice = mailWith(from, to, "To: team@agents.test");
    expect(await found(await signed(twice, "From:To"))).to.deep.equal({ dmarc: "pass", covers: ["to"] });
  });

  it("a mail that signs one Reply-To more than it has fails as soon as one is added", async () => {
    const signature = await signed(mailWith(from, to), "From:To:Subject");
    // A name in h= without a field adds nothing to the signed data, so the same signature stays valid.
    expect(await found(signature)).to.deep.equal({ dmarc: "pass", covers: ["to"] });
    const over = await overSigned();
    expect(await found(over)).to.deep.equal({ dmarc: "pass", covers: ["to"] });
    expect(await found(`${evil}\r\n${over}`)).to.deep.equal({ dmarc: "fail", covers: [] });
  });

  /** Signs by hand, because the library cannot name Reply-To and To in h= once more than they occur, as careful signers do. */
  async function overSigned(): Promise<string> {
    const { createHash, createSign } = await import("node:crypto");
    const mail = mailWith(from, to);
    const body = createHash("sha256").update("Where is it?\r\n").digest("base64");
    const value = `v=1; a=rsa-sha256; c=relaxed/relaxed; d=bank.test; s=s1; h=from:to:to:reply-to; bh=${body}; b=`;
    const relaxed = (field: string) => field.replace(/^([^:]+):\s*/, (_, name: string) => `${name.toLowerCase()}:`);
    const told = [relaxed(from), relaxed(to), `dkim-signature:${value}`].join("\r\n");
    const b = createSign("rsa-sha256").update(told).sign(pem, "base64");
    return `DKIM-Signature: ${value}${b}\r\n${mail}`;
  }

  it("only From is proven by SPF, by another domain's signature, or by a subdomain's under strict alignment", async () => {
    const mail = mailWith(from, to, replyTo);
    const all = "From:To:Reply-To:Subject";
    expect(await found(mail, { from: "ann@bank.test", ip: "192.0.2.1" })).to.deep.equal({ dmarc: "pass", covers: [] });
    const strangers = await signed(mail, all, "list.test");
    expect(await found(strangers, { from: "ann@bank.test", ip: "192.0.2.1" })).to.deep.equal({
      dmarc: "pass",
      covers: [],
    });
    const child = await signed(mail, all, "mail.bank.test");
    expect(await found(child)).to.deep.equal({ dmarc: "pass", covers: ["to", "reply_to"] });
    const strict = await signed(mail.replace("ann@bank.test", "ann@strict.test"), all, "mail.strict.test");
    expect(await found(strict, { from: "ann@strict.test", ip: "192.0.2.1" })).to.deep.equal({
      dmarc: "pass",
      covers: [],
    });
  });

  it("mail from this machine proves From alone, for the domains named in the development setting", async () => {
    const by = withProvenDomains(authenticator, ["Shop.test"]);
    const shop = mailWith("From: Ann <ann@shop.test>", to);
    for (const ip of ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"]) {
      expect(await found(shop, { from: "ann@shop.test", ip, by }), ip).to.deep.equal({ dmarc: "pass", covers: [] });
    }
    for (const [mail, ip] of [
      [shop, "192.0.2.1"],
      [shop, "10.0.0.1"],
      [shop, "::ffff:10.127.0.1"],
      [mailWith("From: Ann <ann@evil.shop.test>", to), "127.0.0.1"],
      [mailWith("From: Ann <ann@other.test>", "From: Ann <ann@shop.test>", to), "127.0.0.1"],
      [mailWith("From: Ann <ann@shop.test>", "From: Eve <eve@other.test>", to), "127.0.0.1"],
    ] as const) {
      expect((await found(mail, { from: "eve@other.test", ip, by })).dmarc, `${mail} ${ip}`).not.to.equal("pass");
    }
    expect(withProvenDomains(authenticator, [])).to.equal(authenticator);
  });
});
