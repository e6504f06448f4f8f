import { expect } from "chai";
import { pino } from "pino";
import { reception } from "#src/commands/inbound.ts";
import { compose } from "#src/compose.ts";
import { loadConfig } from "#src/config.ts";
import { asking, mail, until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService, type TestService } from "#test/support/service.ts";

const keys = `k1:${Buffer.alloc(32, 7).toString("base64")}`;

/** Commands on the same database, without any role of a service. */
async function beside(database: TestDatabase) {
  const config = loadConfig({
    NODE_ENV: "test",
    PUBLIC_URL: "http://localhost:8080",
    DATABASE_URL: database.serviceUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
    DNS_SERVERS: "127.0.0.1:9",
    SECRETS_KEYS: keys,
  });
  return compose(config, database, pino({ level: "silent" }));
}

describe("held mail, its release killed", function () {
  this.timeout(120_000);
  let database: TestDatabase;
  let running: TestService | undefined;
  /** Of the first start. */
  let apiKey = "";
  let composition: Awaited<ReturnType<typeof beside>>;
  before(async () => {
    database = await createTestDatabase();
    composition = await beside(database);
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });
  after(async () => {
    await composition.close();
    await database.drop();
  });

  const start = (env: Record<string, string> = {}) =>
    startService({
      database,
      env: { SECRETS_KEYS: keys, DNS_SERVERS: "127.0.0.1:9", RATE_LIMIT_READ: "off", RATE_LIMIT_WRITE: "off", ...env },
    });

  for (const crashAt of ["filing:decided", "filing:threaded", "filing:threaded:2", "filing:filed"]) {
    it(`with kill -9 at ${crashAt} is released all the same, each message once, in order [d5 held]`, async () => {
      running = await start();
      apiKey = running.apiKey ?? apiKey;
      let ask = asking(running.url, apiKey);
      const [sandbox] = (await ask("GET /v1/domains")).json.data;
      const body = { domain_id: sandbox.id, local_part: crashAt.replaceAll(":", "-"), display_name: "Held" };
      const { json: identity } = await ask("POST /v1/identities", { json: body });
      await ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "disabled" } });
      const { resolve, accept } = reception(composition.deps);
      for (const n of [1, 2, 3]) {
        const recipient = (await resolve(identity.email_address))!;
        const raw = Buffer.from(
          mail({ id: `${n}.${identity.id}@x.example`, ...(n > 1 && { inReplyTo: `1.${identity.id}@x.example` }) }),
        );
        const remote = { ip: "192.0.2.1", helo: "x" };
        await accept({ recipient, address: identity.email_address, from: "ann@customer.example", raw, remote });
      }
      const entries = async () => (await ask(`GET /v1/inbound?identity_id=${identity.id}`)).json.data.reverse();
      const are = (disposition: string) => async () => {
        const all = await entries();
        return all.length === 3 && all.every((entry: any) => entry.disposition === disposition && entry.filed_position);
      };
      await until(are("held_identity_disabled"));
      await running.stop();

      running = await start({ CRASH_AT: crashAt });
      await fetch(`${running.url}/v1/identities/${identity.id}`, {
        method: "PATCH",
        headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
        body: JSON.stringify({ status: "active" }),
      }).catch(() => undefined);
      const crashed = running;
      await until(async () => crashed.exitCode() !== null || isGone(crashed.pid));

      running = await start();
      ask = asking(running.url, apiKey);
      await until(are("threaded"));
      const threads = (await ask(`GET /v1/threads?identity_id=${identity.id}`)).json;
      expect(threads.total).to.equal(1);
      const { json: thread } = await ask(`GET /v1/threads/${threads.data[0].id}`);
      const all = await entries();
      expect(thread.messages.map(({ id }: any) => id)).to.deep.equal(all.map((entry: any) => entry.message_id));
      const filed = all.map((entry: any) => entry.filed_position);
      expect(filed).to.deep.equal([...filed].sort((a, b) => a - b));
      const { json: me } = await ask("GET /v1/workspaces/me");
      const { json: ledger } = await ask("GET /v1/inbound?disposition=threaded");
      expect(me.inbound_received_this_period).to.equal(ledger.total);
    });
  }
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
