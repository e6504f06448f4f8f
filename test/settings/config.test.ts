import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { usualTimeouts } from "#src/mail/out/smtpProvider.ts";
import { createNodeResolver } from "#src/platform/dns/nodeResolver.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { StartError } from "#src/platform/startError.ts";
import { commandSettings } from "#src/settings/commandSettings.ts";
import { loadConfig } from "#src/settings/config.ts";
import { answerLimits } from "#src/settings/settingKinds.ts";
import { settingDescriptions } from "#src/settings/settings.ts";

const ring = newRingKey("k1");

/** Returns the sentence with which the start refuses these settings. */
function refusal(environment: Record<string, string>): string {
  try {
    loadConfig({ SECRETS_KEYS: ring, ...environment });
  } catch (error) {
    expect(error).to.be.instanceOf(StartError);
    return (error as StartError).message;
  }
  throw new Error("these settings were taken");
}

describe("the configuration", () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "countersign-config-"));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  it("the configured time for a hand-over covers the limits of SMTP, for ten recipients too", () => {
    const { envelopeMs, contentMs, answerMs } = usualTimeouts;
    const { handOverSeconds } = loadConfig({ SECRETS_KEYS: ring });
    expect(handOverSeconds * 1_000).to.be.greaterThan(10 * envelopeMs + contentMs + answerMs);
  });

  it("EVENT_STORE_URL may have any scheme of KurrentDB's clients", () => {
    for (const scheme of ["esdb", "kurrentdb", "kurrent", "kdb"].flatMap((name) => [name, `${name}+discover`])) {
      const url = `${scheme}://user:secret@host:2113`;
      expect(loadConfig({ SECRETS_KEYS: ring, EVENT_STORE_URL: url }).eventStoreUrl).to.equal(url);
    }
    expect(refusal({ EVENT_STORE_URL: "kurent://host" })).to.include("EVENT_STORE_URL");
  });

  it("the configuration has the documented defaults", () => {
    const config = loadConfig({ SECRETS_KEYS: ring });
    expect(config).to.deep.include({
      production: false,
      host: "127.0.0.1",
      port: 8080,
      publicUrl: "http://localhost:8080",
      databaseUrl: undefined,
      mailProvider: "outbox",
      smtpInPort: 2525,
      smtpInHost: "127.0.0.1",
      inboundMxHost: "localhost",
      sandboxDomain: "agents.localhost",
      approvalsFrom: "approvals@countersign.localhost",
      trustProxy: 0,
      metricsToken: undefined,
      outboxToken: undefined,
      allowedHosts: [],
      operatorEmails: [],
      smtpInTlsCert: undefined,
      smtpInTlsKey: undefined,
      rateLimits: {
        ...{ read: 60, write: 20, send: 10, notify: 10, test_email: 10, auth: undefined },
        ...{ bad_key: 60, bad_link: 30, console: 300, document: 120 },
      },
      notifyThrottleSeconds: 60,
      deliveryConfirmSeconds: 900,
      approvalLinkHours: 72,
      idempotencyHours: 24,
      smtpConnections: 10,
      smtpRetrySeconds: [60, 300, 900, 3600],
      webhookRetrySeconds: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
      domainCheckSeconds: [30, 600, 86_400],
      serviceMailPerHour: [20, 300, 600, 3_000],
      retentionDaysHeld: "never",
      retentionDaysQuarantined: "never",
      logLevel: "info",
    });
    expect([...config.roles]).to.deep.equal(["api", "projections", "processes", "smtp"]);
  });

  it("proxies are configured by their number or their networks", () => {
    const trusted = (TRUST_PROXY: string) => loadConfig({ SECRETS_KEYS: ring, TRUST_PROXY }).trustProxy;
    expect([trusted("0"), trusted("2"), trusted("10")]).to.deep.equal([0, 2, 10]);
    expect(trusted("loopback, 10.0.0.0/8,2001:db8::/32, 192.0.2.1")).to.deep.equal([
      ...["loopback", "10.0.0.0/8", "2001:db8::/32", "192.0.2.1"],
    ]);
    for (const wrong of ["11", "-1", "true", "10.0.0.0/33", "proxy.example", "10.0.0.0/8,", "1,2"]) {
      expect(refusal({ TRUST_PROXY: wrong }), wrong).to.contain("TRUST_PROXY is wrong");
    }
    expect(refusal({ METRICS_TOKEN: "short" }))
      .to.contain("METRICS_TOKEN")
      .and.not.to.contain("short,");
  });

  it("the limits of service mail are configured as four numbers, or none at all", () => {
    const taken = (SERVICE_MAIL_PER_HOUR: string) => loadConfig({ SECRETS_KEYS: ring, SERVICE_MAIL_PER_HOUR });
    expect(taken("1, 2,3,4").serviceMailPerHour).to.deep.equal([1, 2, 3, 4]);
    expect(taken("off").serviceMailPerHour).to.equal("off");
    for (const wrong of ["20", "1,2,3", "1,2,3,4,5", "0,2,3,4", "1,2,3,off", "on"])
      expect(refusal({ SERVICE_MAIL_PER_HOUR: wrong }), wrong).to.contain("SERVICE_MAIL_PER_HOUR is wrong");
  });

  it("the limits of answers to one address are numbers of answers and seconds, or none at all", () => {
    const taken = (AUTO_ANSWERS_PER_ADDRESS: string) => loadConfig({ SECRETS_KEYS: ring, AUTO_ANSWERS_PER_ADDRESS });
    expect(answerLimits(taken("2/60, 5/3600").autoAnswersPerAddress)).to.deep.equal([
      { count: 2, seconds: 60 },
      { count: 5, seconds: 3600 },
    ]);
    expect(taken("off").autoAnswersPerAddress).to.equal("off");
    for (const wrong of ["10", "10/", "/3600", "0/3600", "10/0", "1/2/3", "on", "10/3600,off", "200/60"])
      expect(refusal({ AUTO_ANSWERS_PER_ADDRESS: wrong }), wrong).to.contain("AUTO_ANSWERS_PER_ADDRESS is wrong");
  });

  it("settings have defaults that follow from other settings", () => {
    const config = loadConfig({
      SECRETS_KEYS: ring,
      PORT: "9000",
      SANDBOX_DOMAIN: "Try.Example",
      DATABASE_URL: "postgres://u:p@h/d",
    });
    expect(config.publicUrl).to.equal("http://localhost:9000");
    // A domain that differs from the tenants' domain.
    expect(config.approvalsFrom).to.equal("approvals@countersign.localhost");
    expect(config.databaseOwnerUrl).to.equal("postgres://u:p@h/d");
  });

  it("each setting is described in one sentence, with a default that could be set", () => {
    for (const { name, takes, default: value, meaning } of settingDescriptions) {
      expect(meaning, name).to.match(/^[A-Z][^.]+\.$/);
      expect(takes, name).not.to.equal("");
      expect(value, name).not.to.equal("");
    }
    const inWords = settingDescriptions.filter(({ default: value }) => value === "none" || value.includes(" "));
    const settable = settingDescriptions.filter(
      (each) => !inWords.includes(each) && !["PUBLIC_URL", "DATABASE_OWNER_URL", "CRASH_AT"].includes(each.name),
    );
    expect(settable).to.have.length.above(20);
    const environment = Object.fromEntries(settable.map(({ name, default: value }) => [name, value]));
    expect(loadConfig({ SECRETS_KEYS: ring, ...environment })).to.deep.equal(loadConfig({ SECRETS_KEYS: ring }));
  });

  const stripe = {
    STRIPE_SECRET_KEY: "sk_test_abcdefghijklmnop",
    STRIPE_WEBHOOK_SECRET: "whsec_abcdefghijklmnop,whsec_ponmlkjihgfedcba",
    STRIPE_PRICE_PRO_MONTHLY: "price_1",
    STRIPE_PRICE_PRO_ANNUAL: "price_2",
    STRIPE_PRICE_AGENCY_MONTHLY: "price_3",
    STRIPE_PRICE_AGENCY_ANNUAL: "price_4",
  };

  it("Stripe's settings are accepted together, or none of them [d10 settings]", () => {
    expect(loadConfig({ SECRETS_KEYS: ring }).stripe).to.equal(null);
    expect(loadConfig({ SECRETS_KEYS: ring, ...stripe, STRIPE_PORTAL_CONFIGURATION: "bpc_1" }).stripe).to.deep.equal({
      secretKey: "sk_test_abcdefghijklmnop",
      webhookSecrets: ["whsec_abcdefghijklmnop", "whsec_ponmlkjihgfedcba"],
      portalConfiguration: "bpc_1",
      apiBase: undefined,
      prices: { pro: { monthly: "price_1", annual: "price_2" }, agency: { monthly: "price_3", annual: "price_4" } },
    });
    for (const name of Object.keys(stripe) as (keyof typeof stripe)[]) {
      const { [name]: missing, ...others } = stripe;
      expect(refusal(others), name).to.match(new RegExp(`set without ${name}:`));
      expect(refusal({ [name]: missing }), name).to.contain(`${name} is set without`);
    }
    expect(refusal({ STRIPE_API_BASE: "http://127.0.0.1:1" })).to.contain("set without STRIPE_SECRET_KEY,");
    expect(refusal({ ...stripe, STRIPE_PRICE_PRO_ANNUAL: "price_4" })).to.contain("another plan or interval has");
    for (const [name, value] of [
      ["STRIPE_SECRET_KEY", "pk_test_abcdefghijklmnop"],
      ["STRIPE_WEBHOOK_SECRET", "whsec_abcdefghijklmnop,,"],
      ["STRIPE_PRICE_PRO_ANNUAL", "29"],
      ["STRIPE_API_BASE", "https://api.example/v2"],
    ] as const) {
      const said = refusal({ ...stripe, [name]: value });
      expect(said, name).to.contain(`${name} is wrong`).and.not.contain(value);
    }
    const three = `${stripe.STRIPE_WEBHOOK_SECRET},whsec_aaaaaaaaaaaaaaaa`;
    expect(refusal({ ...stripe, STRIPE_WEBHOOK_SECRET: three })).to.contain("more than two");
    const plain = { NODE_ENV: "production", MAIL_PROVIDER: "outbox", STRIPE_API_BASE: "http://127.0.0.1:1" };
    expect(refusal({ ...stripe, ...plain })).to.contain("STRIPE_API_BASE has to begin with https://");
  });

  it("docker-compose.yml passes on every setting that has a use there, and no other variable", async () => {
    const names = settingDescriptions.map(({ name }) => name);
    const compose = await readFile("docker-compose.yml", "utf8");
    const [, set = ""] = /\n {4}environment:\n([\s\S]*?)\n {4}\w/.exec(compose) ?? [];
    const handedOn = [...set.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name);
    // Settings of the embedded PostgreSQL, for a single machine, or for tests; with Compose every instance has all roles.
    const useless = ["DATA_DIR", "SMTP_IN_MIN_FREE_MB", "DEV_PROVEN_DOMAINS", "CRASH_AT", "ROLES", "STRIPE_API_BASE"];
    expect(handedOn).to.have.members(names.filter((name) => !useless.includes(name)));
  });

  it("docker-compose.yml can run twice, behind a proxy, and names no administrator at run time", async () => {
    const compose = await readFile("docker-compose.yml", "utf8");
    const [, text = ""] = /\nservices:\n([\s\S]*?)\n\w/.exec(compose) ?? [];
    const services = new Map(
      text
        .split(/^ {2}(?=[\w-]+:\n)/m)
        .slice(1)
        .map((service) => [service.slice(0, service.indexOf(":")), service]),
    );
    expect([...services.keys()]).to.include.members(["countersign", "proxy", "mail", "eventstore-user", "eventstore"]);
    const having = (words: string) => [...services].filter(([, said]) => said.includes(words)).map(([name]) => name);
    // A port or a container name can be used only once on a machine.
    expect([having("\n    ports:"), having("container_name:")]).to.deep.equal([["proxy", "mail"], []]);
    expect(having("://admin:")).to.deep.equal(["eventstore-user"]);
    expect(having("ADMIN_PASSWORD")).to.have.members(["eventstore-user", "eventstore", "certificates"]);
    expect(services.get("countersign"))
      .to.match(/EVENT_STORE_URL: (&\S+ )?\$\{EVENTSTORE_SERVICE_PASSWORD:\+esdb:\/\/countersign:/)
      .and.to.match(/eventstore-user: \{ condition: service_completed_successfully, required: false \}/)
      .and.to.match(/SMTP_IN_PROXY: "true"\n.*TRUST_PROXY: \$\{TRUST_PROXY:-1\}/);
    expect(await readFile("scripts/compose/haproxy.cfg", "utf8")).to.match(/countersign:2525 check .*send-proxy/);
    expect(await readFile("scripts/compose/Caddyfile", "utf8"))
      .to.match(/dynamic a countersign 8080/)
      .and.to.match(/@inside path \/metrics \/readyz\n\s+respond @inside 404/);
    // Compose cannot start a read-only container with a config that is written in the Compose file itself.
    const inline = [...compose.matchAll(/\n {2}(\w+):\n {4}content:/g)].map(([, name]) => name);
    const readOnly = having("read_only: true").map((name) => services.get(name)!);
    expect(readOnly).to.have.length.greaterThan(2);
    for (const service of readOnly)
      expect([...service.matchAll(/source: (\w+)/g)].map(([, name]) => name)).not.to.include.any.members(inline);
  });

  it("an empty setting counts as missing", () => {
    expect(loadConfig({ SECRETS_KEYS: ring, PORT: "", SMTP_URL: " ", CRASH_AT: "" }).port).to.equal(8080);
  });

  it("a refused configuration lists everything that is wrong at once, without repeating a secret", () => {
    const message = refusal({
      PORT: "80 80",
      SMTP_IN_PORT: "70000",
      PUBLIC_URL: "ftp://x",
      DATABASE_URL: "mysql://root:hunter2@h/d",
      SECRETS_KEYS: "k1:aHVudGVyMg==",
      ROLES: "api,everything",
      RATE_LIMIT_SEND: "-1",
      SMTP_RETRY_SECONDS: "60,soon",
      SERVICE_MAIL_PER_HOUR: "20,300,600",
      DOMAIN_CHECK_SECONDS: "30,600",
      RETENTION_DAYS_HELD: "0",
      RETENTION_DAYS_QUARANTINED: "1.5",
      RETENTION_DAYS_OUTBOX: "2",
      DNS_SERVERS: "127.0.0.1:5353,dns.example",
      SPF_INCLUDE: "spf example",
      SPF_ADDRESSES: "192.0.2.0/24",
      CRASH_AT: "send:nowhere",
      APPROVALS_FROM: "a@b.example, c@d.example",
      MAIL_PROVIDER: "pigeon",
      LOG_LEVEL: "loud",
      NODE_ENV: "prod",
    });
    const named = [...message.matchAll(/^ {2}- (\w+)/gm)].map(([, name]) => name);
    expect(named).to.have.members([
      "PORT",
      "SMTP_IN_PORT",
      "PUBLIC_URL",
      "DATABASE_URL",
      "SECRETS_KEYS",
      "ROLES",
      "RATE_LIMIT_SEND",
      "SMTP_RETRY_SECONDS",
      "SERVICE_MAIL_PER_HOUR",
      "DOMAIN_CHECK_SECONDS",
      "RETENTION_DAYS_HELD",
      "RETENTION_DAYS_QUARANTINED",
      "RETENTION_DAYS_OUTBOX",
      "DNS_SERVERS",
      "SPF_INCLUDE",
      "SPF_ADDRESSES",
      "CRASH_AT",
      "APPROVALS_FROM",
      "MAIL_PROVIDER",
      "LOG_LEVEL",
      "NODE_ENV",
    ]);
    expect(message).not.to.match(/hunter2|aHVudGVyMg/);
  });

  it("the name of an SPF record may have underscores, and the name of a mail domain none", () => {
    const spfInclude = (name: string) => loadConfig({ SECRETS_KEYS: ring, SPF_INCLUDE: name }).spfInclude;
    expect(spfInclude("_spf.Relay.example")).to.equal("_spf.relay.example");
    expect(spfInclude("eu_1._spf-a.relay.example")).to.equal("eu_1._spf-a.relay.example");
    for (const name of ["_spf..relay.example", "-spf.relay.example", "_spf relay", `${"a".repeat(254)}`])
      expect(refusal({ SPF_INCLUDE: name }), name).to.include("expected a name in DNS such as _spf.example.com");
    expect(refusal({ SANDBOX_DOMAIN: "_spf.relay.example" })).to.include("expected a domain name");
  });

  it("the addresses that mail leaves from reach the checks of domains", () => {
    const config = loadConfig({ SECRETS_KEYS: ring, SPF_ADDRESSES: "192.0.2.1, 2001:db8::1" });
    expect(commandSettings(config).spfAddresses).to.deep.equal(["192.0.2.1", "2001:db8::1"]);
    expect(commandSettings(loadConfig({ SECRETS_KEYS: ring })).spfAddresses).to.equal(undefined);
  });

  it("evaluations that still keep rules from running twice may not be removed", () => {
    expect(refusal({ RETENTION_DAYS_EVALUATIONS: "29" })).to.include(
      "RETENTION_DAYS_EVALUATIONS is wrong: expected a whole number from 30 to 36500, or never.",
    );
    const { retentionDaysEvaluations, retentionDaysOutbox } = loadConfig({ SECRETS_KEYS: ring });
    expect({ retentionDaysEvaluations, retentionDaysOutbox }).to.deep.equal({
      retentionDaysEvaluations: "never",
      retentionDaysOutbox: 30,
    });
    expect(loadConfig({ SECRETS_KEYS: ring, RETENTION_DAYS_EVALUATIONS: "30" })).to.include({
      retentionDaysEvaluations: 30,
    });
  });

  it("DNS servers are configured as addresses, with a port or without", () => {
    const servers = ["192.0.2.1", "127.0.0.1:5353", "2001:db8::1", "[2001:db8::1]:5353"];
    expect(loadConfig({ SECRETS_KEYS: ring, DNS_SERVERS: servers.join(", ") }).dnsServers).to.deep.equal(servers);
    expect(() => createNodeResolver({ servers })).not.to.throw();
    for (const wrong of [
      "localhost",
      "127.0.0.1:",
      "127.0.0.1:0",
      "127.0.0.1:70000",
      "[127.0.0.1]:53",
      "1.2.3",
      "::1]",
    ]) {
      expect(refusal({ DNS_SERVERS: wrong }), wrong).to.match(/DNS_SERVERS is wrong/);
    }
  });

  it("relays are addresses and networks; in production XCLIENT is believed only of named relays", () => {
    expect(loadConfig({ SECRETS_KEYS: ring })).to.deep.include({
      smtpInRelays: ["127.0.0.0/8", "::1"],
      smtpInXclient: true,
      smtpInBudget: [600, 500],
      smtpInMinFreeMb: 500,
      smtpInMaxDatabaseMb: undefined,
    });
    const given = { SECRETS_KEYS: ring, SMTP_IN_RELAYS: "10.0.0.0/8, 192.0.2.1,2001:db8::/32", SMTP_IN_BUDGET: "5,1" };
    const relays = ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"];
    expect(loadConfig(given)).to.deep.include({ smtpInRelays: relays, smtpInBudget: [5, 1] });
    const production = { SECRETS_KEYS: ring, NODE_ENV: "production", MAIL_PROVIDER: "outbox" };
    expect(loadConfig(production).smtpInXclient).to.equal(false);
    expect(loadConfig({ ...given, ...production }).smtpInXclient).to.equal(true);
    for (const wrong of [
      "10.0.0.0/33",
      "2001:db8::/129",
      "relay.example",
      "10.0.0/8",
      "10.0.0.1/",
      "10.0.0.1/8/8",
      "fe80::1%1",
    ])
      expect(refusal({ SMTP_IN_RELAYS: wrong }), wrong).to.match(/SMTP_IN_RELAYS is wrong/);
    for (const wrong of ["600", "0,500", "600,500,1", "many,500"])
      expect(refusal({ SMTP_IN_BUDGET: wrong }), wrong).to.match(/SMTP_IN_BUDGET is wrong/);
  });

  it("an unknown mail provider is refused with the names of those there are", () => {
    expect(refusal({ MAIL_PROVIDER: "pigeon" })).to.match(
      /MAIL_PROVIDER is wrong: expected outbox, smtp or sendgrid\./,
    );
  });

  it("settings that do not fit together are refused", () => {
    expect(refusal({ MAIL_PROVIDER: "smtp" })).to.match(/SMTP_URL has to be set/);
    expect(refusal({ MAIL_PROVIDER: "sendgrid" })).to.match(/SENDGRID_API_KEY has to be set/);
    expect(refusal({ SENDGRID_BASE_URL: "http://api.example" })).to.match(/SENDGRID_BASE_URL has to begin with https/);
    expect(refusal({ SENDGRID_EVENT_PUBLIC_KEY: "AAAA" })).to.match(/SENDGRID_EVENT_PUBLIC_KEY is wrong/);
    const relay = "smtp://agent:hunter2@relay.example?minVersion=1.3&certFile=/nowhere";
    expect(refusal({ MAIL_PROVIDER: "smtp", SMTP_URL: relay }))
      .to.match(/minVersion has to be TLSv1.2 or TLSv1.3[\s\S]*certFile and keyFile belong together/)
      .and.not.include("hunter2");
    expect(loadConfig({ SECRETS_KEYS: ring, SMTP_URL: relay }).smtpUrl, "not used").to.equal(relay);
    expect(refusal({ DATABASE_OWNER_URL: "postgres://h/d" })).to.match(
      /DATABASE_OWNER_URL is set without DATABASE_URL/,
    );
  });

  it("a certificate for mail is accepted with its key alone, and the missing one is named", () => {
    const both = { SMTP_IN_TLS_CERT: "/certs/mx.pem", SMTP_IN_TLS_KEY: "/certs/mx.key" };
    expect(loadConfig({ SECRETS_KEYS: ring, ...both })).to.include({
      smtpInTlsCert: "/certs/mx.pem",
      smtpInTlsKey: "/certs/mx.key",
    });
    expect(refusal({ ...both, SMTP_IN_TLS_KEY: "" })).to.match(/SMTP_IN_TLS_CERT is set without SMTP_IN_TLS_KEY: set/);
    expect(refusal({ ...both, SMTP_IN_TLS_CERT: "" })).to.match(/SMTP_IN_TLS_KEY is set without SMTP_IN_TLS_CERT: set/);
  });

  it("in production PUBLIC_URL must be https, except for this machine", () => {
    const production = { NODE_ENV: "production", MAIL_PROVIDER: "outbox", SECRETS_KEYS: ring };
    for (const PUBLIC_URL of [
      ...["http://mail.example", "http://mail.example:443", "http://10.0.0.1:8080", "http://localhost.mail.example"],
      "http://127.0.0.1.mail.example",
    ])
      expect(refusal({ ...production, PUBLIC_URL }), PUBLIC_URL).to.match(/PUBLIC_URL has to begin with https/);
    for (const PUBLIC_URL of ["https://mail.example", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:8080"])
      expect(loadConfig({ ...production, PUBLIC_URL }).publicUrl).to.equal(PUBLIC_URL);
    expect(loadConfig({ SECRETS_KEYS: ring, PUBLIC_URL: "http://mail.example" }).publicUrl).to.be.a("string");
  });

  it("in production a sandbox domain requires approval mail from another domain", () => {
    const production = { NODE_ENV: "production", MAIL_PROVIDER: "outbox", PUBLIC_URL: "https://try.example" };
    const sandbox = { ...production, SANDBOX_DOMAIN: "try.example" };
    expect(refusal(sandbox)).to.match(/APPROVALS_FROM has to be set with SANDBOX_DOMAIN in production: an address on/);
    expect(refusal({ ...sandbox, APPROVALS_FROM: "decisions@TRY.example" })).to.match(
      /APPROVALS_FROM is on SANDBOX_DOMAIN: set it to an address on another domain/,
    );
    const config = loadConfig({ SECRETS_KEYS: ring, ...sandbox, APPROVALS_FROM: "decisions@ours.example" });
    expect([config.sandboxDomain, config.approvalsFrom]).to.deep.equal(["try.example", "decisions@ours.example"]);
    expect(loadConfig({ SECRETS_KEYS: ring, ...production }).approvalsFrom).to.equal("approvals@try.example");
  });

  it("in production settings for development are refused", () => {
    const message = refusal({
      NODE_ENV: "production",
      SECRETS_KEYS: "",
      CRASH_AT: "send:claimed",
      DEV_PROVEN_DOMAINS: "x.example",
    });
    expect(message).to.match(/SECRETS_KEYS has to be set/);
    expect(message).to.match(/MAIL_PROVIDER has to be set/);
    expect(message).to.match(/CRASH_AT is refused/);
    expect(message).to.match(/DEV_PROVEN_DOMAINS is refused/);
    const config = loadConfig({ NODE_ENV: "production", SECRETS_KEYS: ring, MAIL_PROVIDER: "outbox" });
    expect(config).to.include({ production: true, sandboxDomain: null });
  });

  it("in development the mail of configured domains from this machine counts as proven", () => {
    const { devProvenDomains } = loadConfig({ SECRETS_KEYS: ring, DEV_PROVEN_DOMAINS: "customer.example, shop.test" });
    expect(devProvenDomains).to.deep.equal(["customer.example", "shop.test"]);
    expect(refusal({ DEV_PROVEN_DOMAINS: "not a domain" })).to.match(/DEV_PROVEN_DOMAINS/);
  });

  it("witnesses are a list of verifier keys with URLs; other keys, other URLs and a witness twice are refused", () => {
    const key = (name: string, type = 4) => {
      const typed = Buffer.concat([Buffer.from([type]), Buffer.alloc(32, 1)]);
      const id = createHash("sha256").update(`${name}\n`).update(typed).digest("hex").slice(0, 8);
      return `${name}+${id}+${typed.toString("base64")}`;
    };
    const given = `${key("w.example/1")} https://w.example/1/, ${key("w.example/2")}  http://127.0.0.1:8`;
    expect(loadConfig({ SECRETS_KEYS: ring, AUDIT_WITNESSES: given }).auditWitnesses).to.deep.equal([
      { verifierKey: key("w.example/1"), url: "https://w.example/1" },
      { verifierKey: key("w.example/2"), url: "http://127.0.0.1:8" },
    ]);
    const refused = [
      key("w"),
      `${key("w", 1)} https://w.example`,
      `${key("w").replace("w+", "v+")} https://w.example`,
      `${key("w")} ftp://w.example`,
      `${key("w")} https://w.example/?a`,
    ];
    for (const each of refused) expect(refusal({ AUDIT_WITNESSES: each })).to.match(/AUDIT_WITNESSES is wrong/);
    const twice = `${key("w")} https://w.example,${key("w")} https://v.example`;
    expect(refusal({ AUDIT_WITNESSES: twice })).to.match(/names a witness twice/);
  });

  it("a crash point is configured with and without a count", () => {
    expect(loadConfig({ SECRETS_KEYS: ring, CRASH_AT: "send:claimed:3" }).crashAt).to.equal("send:claimed:3");
    expect(refusal({ CRASH_AT: "send:claimed:" })).to.match(/CRASH_AT/);
  });

  it("the keys of a development installation are made once, readable by its owner alone", async () => {
    const { secretsKeys } = loadConfig({ DATA_DIR: dataDir });
    expect(loadConfig({ DATA_DIR: dataDir }).secretsKeys).to.equal(secretsKeys);
    const owner = { workspaceId: "w", field: "f" };
    expect(createKeyRing(secretsKeys).open(createKeyRing(secretsKeys).seal("s", owner), owner)).to.equal("s");
    const file = join(dataDir, "secrets.keys");
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect((await readFile(file, "utf8")).trim()).to.equal(secretsKeys);
  });

  it("keys that cannot be stored are reported in a sentence", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    expect(() => loadConfig({ DATA_DIR: file })).to.throw(StartError, /cannot be kept/);
  });
});
