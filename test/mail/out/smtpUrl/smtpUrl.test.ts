import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { problemsOfSmtpUrl, readSmtpUrl } from "#src/mail/out/smtpUrl/smtpUrl.ts";
import { certificateOf } from "#test/support/certificate.ts";

describe("SMTP_URL", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-smtp-url-"));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const [client, other] = [certificateOf("client.example"), certificateOf("other.example")];
  const cert = file("client.pem", client.cert);
  const key = file("client.key", client.key);
  const foreignKey = file("other.key", other.key);
  const secret = file("secret", "from-a-file\n");
  const empty = file("empty", "\n");
  const nowhere = join(directory, "nowhere");
  after(() => rmSync(directory, { recursive: true }));

  const oauth = "smtp://agent%40ours.example@relay.example?accessUrl=https://login.example/token&clientId=id";

  it("SMTP_URL names relay, user and password, and requires TLS for a password to another machine", () => {
    const relay = readSmtpUrl("smtp://agent:p%40ss@relay.example:587");
    expect(relay.connection()).to.deep.include({ host: "relay.example", port: 587, secure: false, requireTLS: true });
    expect(relay.password()).to.deep.equal({ user: "agent", pass: "p@ss" });
    const cases: [url: string, requireTLS: boolean][] = [
      ["smtp://agent:pass@127.0.0.1", false],
      ["smtp://agent:pass@relay.example?ignoreTLS=true", false],
      ["smtp://relay.example", false],
      ["smtp://relay.example?requireTls=true", true],
      ["smtp://127.0.0.1?requireTLS=true", true],
      ["smtp://agent:pass@relay.example?requireTLS=false", false],
      [`${oauth}&clientSecret=x&refreshToken=y`, true],
    ];
    for (const [url, requireTLS] of cases) expect(readSmtpUrl(url).connection().requireTLS, url).to.equal(requireTLS);
    const { host, secure, port } = readSmtpUrl("smtps://[2001:db8::1]").connection();
    expect({ host, secure, port }).to.deep.equal({ host: "2001:db8::1", secure: true, port: undefined });
  });

  it("SMTP_URL has options for TLS", () => {
    const url = `smtps://relay.example?caFile=${cert}&certFile=${cert}&keyFile=${key}&servername=mx.example&minVersion=TLSv1.3`;
    expect(readSmtpUrl(url).connection().tls).to.deep.equal({
      ca: client.cert.trim(),
      cert: client.cert.trim(),
      key: client.key.trim(),
      servername: "mx.example",
      minVersion: "TLSv1.3",
    });
    const usual = readSmtpUrl("smtp://relay.example?tls.rejectUnauthorized=false&tls.servername=mx.example");
    expect(usual.connection().tls).to.deep.equal({
      servername: "mx.example",
      minVersion: "TLSv1.2",
      rejectUnauthorized: false,
    });
  });

  it("SMTP_URL names files with a password and tokens, which are read again each time", () => {
    const path = file("changing", "first");
    const relay = readSmtpUrl(`smtp://agent@relay.example?passwordFile=${path}`);
    expect(relay.password()).to.deep.equal({ user: "agent", pass: "first" });
    file("changing", "second\n");
    expect(relay.password()?.pass).to.equal("second");
    const signIn = readSmtpUrl(`${oauth}&clientSecretFile=${secret}&refreshTokenFile=${path}&scope=mail%20offline`);
    expect(signIn.oauth).to.include({ user: "agent@ours.example", clientId: "id", scope: "mail offline" });
    expect(signIn.oauth?.secrets()).to.deep.equal({ clientSecret: "from-a-file", refreshToken: "second" });
    expect(signIn.password()).to.equal(undefined);
  });

  const wrong: [what: string, url: string, sentence: RegExp][] = [
    ["another protocol", "http://relay.example", /must be smtp:/],
    ["no host", "smtp://:25", /SMTP_URL/],
    ["no URL", "smtp://agent:hunter2@ho st", /not a valid URL/],
    ["a broken escape", "smtp://agent:hunter2%zz@relay.example", /not a valid URL/],
    ["an option that does not exist", "smtp://relay.example?requireSSL=true", /no option requireSSL.*requireTLS/],
    ["a password with a question mark", "smtp://relay.example?hunter2@x", /no option of that name/],
    ["an option twice", "smtp://relay.example?name=a.example&NAME=b.example", /name is given twice/],
    [
      "a switch that is neither on nor off",
      "smtp://relay.example?requireTLS=yes",
      /requireTLS has to be true or false/,
    ],
    ["an old TLS", "smtp://relay.example?minVersion=TLSv1.1", /minVersion has to be TLSv1.2 or TLSv1.3/],
    ["no address to send from", "smtp://relay.example?localAddress=eth0", /localAddress has to be an IP address/],
    ["an empty option", "smtp://relay.example?servername=", /servername has to be a value/],
    ["TLS and none", "smtp://relay.example?requireTLS=true&ignoreTLS=true", /requireTLS excludes ignoreTLS/],
    ["smtps and no TLS", "smtps://relay.example?ignoreTLS=true", /ignoreTLS contradicts smtps/],
    ["a certificate without its key", `smtp://relay.example?certFile=${cert}`, /certFile and keyFile belong together/],
    ["a key without its certificate", `smtp://relay.example?keyFile=${key}`, /certFile and keyFile belong together/],
    ["a certificate without TLS", `smtp://r.example?certFile=${cert}&keyFile=${key}&ignoreTLS=true`, /needs TLS/],
    ["another's key", `smtp://relay.example?certFile=${cert}&keyFile=${foreignKey}`, /keyFile is not that of/],
    ["a key for a certificate", `smtp://relay.example?certFile=${key}&keyFile=${key}`, /certFile holds no certificate/],
    [
      "a certificate for a key",
      `smtp://relay.example?certFile=${cert}&keyFile=${cert}`,
      /keyFile holds no private key/,
    ],
    [
      "a file that is not there",
      `smtp://relay.example?caFile=${nowhere}`,
      /caFile \(.*nowhere\) cannot be read: ENOENT/,
    ],
    ["an authority that is none", `smtp://relay.example?caFile=${secret}`, /caFile holds no certificate/],
    ["a user without a password", "smtp://agent@relay.example", /no password/],
    ["a password without a user", "smtp://:hunter2@relay.example", /no user name/],
    ["a password file without a user", `smtp://relay.example?passwordFile=${secret}`, /passwordFile needs a user name/],
    ["two passwords", `smtp://agent:hunter2@relay.example?passwordFile=${secret}`, /password is given twice/],
    ["an empty password", `smtp://agent@relay.example?passwordFile=${empty}`, /passwordFile .* is empty/],
    ["tokens from nowhere", "smtp://agent@r.example?clientId=id&refreshToken=hunter2", /OAuth2 also needs accessUrl/],
    ["tokens over http", oauth.replace("https:", "http:"), /accessUrl has to be a URL https/],
    ["tokens of nobody", oauth.replace("agent%40ours.example@", ""), /OAuth2 needs a user name/],
    ["tokens and a password", oauth.replace("@relay", ":hunter2@relay"), /exclude each other/],
    ["no client", oauth.replace("&clientId=id", ""), /needs clientId/],
    ["no secret and no token", oauth, /needs clientSecret.*needs refreshToken/],
    ["a secret twice", `${oauth}&clientSecret=hunter2&clientSecretFile=${secret}`, /clientSecret is given twice/],
    ["a token file that is not there", `${oauth}&refreshTokenFile=${nowhere}`, /refreshTokenFile .* cannot be read/],
  ];
  for (const [what, url, sentence] of wrong) {
    it(`an SMTP_URL with ${what} is refused without telling a secret`, () => {
      const problems = problemsOfSmtpUrl(url);
      expect(problems.join(" ")).to.match(sentence);
      for (const problem of problems)
        expect(problem)
          .to.match(/^SMTP_URL/)
          .and.not.include("hunter2");
      expect(() => readSmtpUrl(url)).to.throw(sentence);
    });
  }

  it("an SMTP_URL with several faults is refused with all of them", () => {
    const url = `smtp://relay.example?minVersion=1.3&certFile=${cert}&colour=red&passwordFile=${nowhere}`;
    expect(problemsOfSmtpUrl(url)).to.have.length(5);
  });
});
