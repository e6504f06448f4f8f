import { expect } from "chai";
import pg from "pg";
import { inFull, itInFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { endLeasesOfDead, type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { testSettings } from "#test/support/settings.ts";
import { createClient, until } from "../../scripts/support/client.ts";

const customer = "ann@customer.example";
const lead = "lead@example.com";

/** Three changes of the service's state, then a mail to a person. */
const actions = [
  { type: "add_tag", tag: "asked" },
  { type: "set_priority", priority: "high" },
  { type: "skip_approval" },
  { type: "notify_channel", channel: "email", config: { to: lead } },
];

describe("a crash between a rule's action and its record [d9 evaluations]", () => {
  const services: { stop(): Promise<void> }[] = [];
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase({ readModels: true });
    pool = new pg.Pool({ connectionString: database.ownerUrl, max: 1 });
    // The database is dropped while its last connection may still be closing.
    pool.on("error", () => {});
  });
  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.stop()));
    await pool.end();
    await database.drop();
  });

  const env = { RATE_LIMIT_READ: "off", RATE_LIMIT_WRITE: "off", RATE_LIMIT_SEND: "off" };

  async function startDoomed(point: string): Promise<TestService> {
    const service = await startService({ database, env: { ...testSettings, ...env, CRASH_AT: point } });
    services.push(service);
    return service;
  }

  async function startAgain(): Promise<SecondInstance> {
    if (!inFull) await endLeasesOfDead(pool);
    const service = await startSecondInstance(database, env);
    services.push(service);
    return service;
  }

  const count = async (sql: string): Promise<number> =>
    Number((await pool.query(`select count(*) from ${sql}`)).rows[0].count);
  const events = (type: string): Promise<number> => count(`es.events where type = '${type}'`);

  // The mail to a person is always tested, because a second one could not be taken back.
  const sampled = ["rules:acted:4"];
  for (const point of ["rules:acted:1", "rules:recorded:2", "rules:acted:3", "rules:acted:4"]) {
    (sampled.includes(point) ? it : itInFull)(
      `a crash at ${point} leads to exactly one effect of the rule's actions`,
      async () => {
        const first = await startDoomed(point);
        const apiKey = first.apiKey as string;
        const client = createClient({ ...first, apiKey });
        const identity = await client.identity({ approval_channel: null });
        await client.ask("POST /v1/rules", { name: "Rule", trigger_event: "draft.created", actions });
        await client.mail({ from: customer, to: identity.email_address, subject: "Order", text: "Where is it?" });
        const [thread] = await until("the thread", async () => {
          const { data } = await client.ask("GET /v1/threads");
          return data.length > 0 && data;
        });
        const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
        await client
          .api("POST /v1/drafts", {
            ...{
              thread_id: thread.id,
              identity_id: identity.id,
              based_on_message_id: messages[0].id,
              body_text: "Soon.",
            },
          })
          .catch(() => undefined);
        expect(await first.ended).to.equal("SIGKILL");
        const second = await startAgain();
        const after = createClient({ ...second, apiKey });
        await until("the mail", async () => (await after.outbox()).some((mail) => mail.to.includes(customer)));
        await until("the end", async () => (await events("RuleActionTaken")) === actions.length);
        // The outbox has the mail a moment before the event is recorded.
        await until("the draft's end", async () => (await events("DraftSent")) > 0);
        for (const type of [
          "RulesEvaluated",
          "DraftApproved",
          "DraftRulesApplied",
          "DraftQueued",
          "DraftSent",
          "ContactTagged",
          "ThreadPrioritySet",
        ]) {
          expect(await events(type), type).to.equal(1);
        }
        const mails = await after.outbox();
        expect(
          mails.filter((mail) => mail.to.includes(lead)),
          "mails to the lead",
        ).to.have.length(1);
        expect(
          mails.filter((mail) => mail.to.includes(customer)),
          "answers",
        ).to.have.length(1);
        const { rows } = await pool.query(
          "select data ->> 'outcome' as outcome from es.events where type = 'RuleActionTaken'",
        );
        expect(rows.map(({ outcome }) => outcome)).to.deep.equal(actions.map(() => "done"));
      },
    );
  }
});
