import { expect } from "chai";
import pg from "pg";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { type Ask, asking } from "#test/support/asking.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { mail, until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { endLeasesOfDead, type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";

const sampled = "filing:threaded:2";
const crashPoints = inFull ? ["filing:decided", sampled] : [sampled];
const titled = ["filing:decided", sampled];

describe("the release of held mail by an instance that is killed", () => {
  let database: TestDatabase;
  let running: SecondInstance | undefined;
  let doomed: TestService | undefined;
  let apiKey: string;
  const identities = new Map<string, { id: string; email_address: string }>();

  const start = async (): Promise<Ask> => {
    running = await startSecondInstance(database);
    apiKey ??= running.apiKey as string;
    return asking(running.url, apiKey);
  };
  /** Empty while a new service answers 503 because its read models are not caught up. */
  const entriesOf = async (ask: Ask, id: string): Promise<any[]> =>
    (await ask(`GET /v1/inbound?identity_id=${id}`)).json.data?.toReversed() ?? [];
  const areAll = async (ask: Ask, id: string, disposition: string) => {
    const all = await entriesOf(ask, id);
    return all.length === 3 && all.every((entry) => entry.disposition === disposition && entry.filed_position);
  };

  before(async () => {
    database = await createTestDatabase({ readModels: true });
    const ask = await start();
    const [sandbox] = (await ask("GET /v1/domains")).json.data;
    const { resolve, accept } = createReception(running!.deps);
    for (const [index, crashAt] of crashPoints.entries()) {
      const body = { domain_id: sandbox.id, local_part: `held-${index}`, display_name: "Held" };
      const { json: identity } = await ask("POST /v1/identities", { json: body });
      await ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "disabled" } });
      identities.set(crashAt, identity);
      const address = identity.email_address;
      for (const n of [1, 2, 3]) {
        const first = `1.${identity.id}@x.example`;
        const raw = Buffer.from(mail({ id: `${n}.${identity.id}@x.example`, ...(n > 1 && { inReplyTo: first }) }));
        const remote = { ip: "192.0.2.1", helo: "x" };
        const recipients = [{ recipient: (await resolve(address))!, address }];
        await accept({ recipients, from: "ann@customer.example", raw, remote });
      }
      await until(() => areAll(ask, identity.id, "held_identity_disabled"), 60_000);
    }
    await running?.stop();
  });
  after(async () => {
    await doomed?.stop();
    await running?.stop();
    await database.drop();
  });

  for (const crashAt of titled) {
    (crashAt === sampled ? it : itInFull)(
      `held mail whose release is killed at ${crashAt} is released, each message once, in order [d5 held]`,
      async () => {
        const { id } = identities.get(crashAt)!;
        doomed = await startService({ database, env: { ...testSettings, CRASH_AT: crashAt } });
        const crashed = doomed;
        await fetch(`${crashed.url}/v1/identities/${id}`, {
          method: "PATCH",
          headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
          body: JSON.stringify({ status: "active" }),
        }).catch(() => undefined);
        expect(await crashed.ended).to.equal("SIGKILL");
        if (!inFull) await endLeases(database);

        const ask = await start();
        await until(() => areAll(ask, id, "threaded"), 60_000);
        await until(async () => (await ask(`GET /v1/threads?identity_id=${id}`)).json.total === 1);
        const thread = (await ask(`GET /v1/threads?identity_id=${id}`)).json.data[0];
        const all = await entriesOf(ask, id);
        const { messages } = (await ask(`GET /v1/threads/${thread.id}`)).json;
        expect(messages.map((message: any) => message.id)).to.deep.equal(all.map((entry) => entry.message_id));
        const filed = all.map((entry) => entry.filed_position);
        expect(filed).to.deep.equal([...filed].sort((a, b) => a - b));
        const stored = (await ask("GET /v1/inbound?disposition=threaded")).json.total;
        expect((await ask("GET /v1/workspaces/me")).json.inbound_received_this_period).to.equal(stored);
        await running?.stop();
      },
    );
  }
});

/** Ends the leases of all instances, which are dead. */
async function endLeases({ ownerUrl }: TestDatabase): Promise<void> {
  const sql = new pg.Client({ connectionString: ownerUrl });
  await sql.connect();
  await endLeasesOfDead(sql).finally(() => sql.end());
}
