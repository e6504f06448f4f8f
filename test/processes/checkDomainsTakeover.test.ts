import { expect } from "chai";
import pg from "pg";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { describeInFull, itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { type Client, createClient } from "../../scripts/support/client.ts";

describeInFull("checking domains with two instances, one of them killed", () => {
  let dns: DnsServer;
  let database: TestDatabase;
  let sql: pg.Client;
  const running: TestService[] = [];
  before(async () => {
    [dns, database] = await Promise.all([startDnsServer(), createTestDatabase()]);
    sql = new pg.Client({ connectionString: database.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    for (const service of running) await service.stop();
    await sql.end();
    await database.drop();
    await dns.close();
  });

  const start = async (): Promise<TestService> => {
    const env = {
      DNS_SERVERS: dns.address,
      DOMAIN_CHECK_SECONDS: "1,1,1",
      SECRETS_KEYS: `k1:${Buffer.alloc(32, 9).toString("base64")}`,
      RATE_LIMIT_READ: "off",
      RATE_LIMIT_WRITE: "off",
    };
    const service = await startService({ database, env });
    running.push(service);
    return service;
  };

  itInFull(
    "the domain's checks continue after an instance is killed, count once each, and verify it once [d7 schedule]",
    async () => {
      const one = await start();
      const two = await start();
      const apiKey = one.apiKey!;
      const clientOf = (service: TestService): Client => createClient({ ...service, apiKey });
      const added = await clientOf(two).api("POST /v1/domains", { domain_name: "takeover.example" });
      expect(added.status, JSON.stringify(added.body)).to.equal(200);
      const { id, dns_records } = added.body;
      const attempts = async () => (await clientOf(two).api(`GET /v1/domains/${id}`)).body.verification_attempts ?? 0;
      await until(async () => (await attempts()) >= 2, 60_000);
      // The instance that started first runs the processes.
      await one.kill("SIGKILL");
      const before = await attempts();
      dns.publish(dns_records);
      await until(async () => (await clientOf(two).api(`GET /v1/domains/${id}`)).body.status === "verified", 90_000);
      const { rows } = await sql.query(
        "select type, (data->>'attempt')::int as attempt from es.events where stream_id = $1 order by revision",
        [`domain-${id}`],
      );
      const checked = rows.filter(({ type }) => type === "DomainChecked").map(({ attempt }) => attempt);
      expect(checked).to.deep.equal(checked.map((_, index) => index + 1));
      expect(checked.length).to.be.greaterThan(before);
      expect(rows.filter(({ type }) => type === "DomainVerified")).to.have.length(1);
    },
  );
});
