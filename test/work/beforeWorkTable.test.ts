import { expect } from "chai";
import pg from "pg";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { prepareDatabase } from "#src/postgres/prepare.ts";
import { asking } from "#test/support/asking.ts";
import { restoreBefore } from "#test/support/beforeWorkTable/restore.ts";
import { type Beside, startBeside } from "#test/support/besideInProcess.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { createBareDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";

const hours = 3_600_000;

describe("a database that the release before the work table left with a draft in each state", () => {
  let database: TestDatabase;
  let relay: SmtpRelay;
  let client: pg.Client;
  let service: Beside;

  before(async () => {
    database = await createBareDatabase();
    relay = await startSmtpRelay();
    // All that was to be done at a time is due, and no news is so old that nobody is told.
    await restoreBefore(database, { now: new Date(), endedMsAgo: 2 * hours });
    await prepareDatabase(database);
    client = new pg.Client({ connectionString: database.ownerUrl, options: "-c countersign.workspace=*" });
    await client.connect();
    service = await startService();
  });
  after(async () => {
    await service?.stop();
    await client?.end();
    await relay?.close();
    await database?.drop();
  });

  const startService = () =>
    startBeside(database, {
      MAIL_PROVIDER: "smtp",
      SMTP_URL: relay.url,
      SMTP_RETRY_SECONDS: "3600",
      DELIVERY_CONFIRM_SECONDS: "1",
    });
  const rows = async (sql: string): Promise<any[]> => (await client.query(sql)).rows;

  /** Asks as an agent of the workspace of this draft. */
  async function agentOf(subject: string) {
    const [thread] = await rows(`select workspace_id as id from read.threads where subject = '${subject}'`);
    const grant = { workspaceId: thread.id, name: "after the upgrade", scopes: allScopes };
    const { key } = await createApiKey(service.deps, grant, operator(thread.id));
    return asking(service.url, key);
  }

  /** Each draft's status, by its thread's subject. */
  async function statuses(): Promise<Record<string, string>> {
    const found = await rows(
      "select t.subject, d.status, d.failure_code as code from read.drafts d join read.threads t on t.id = d.thread_id",
    );
    return Object.fromEntries(
      found.map(({ subject, status, code }) => [subject, code ? `${status}: ${code}` : status]),
    );
  }
  const become = (expected: Record<string, string>) =>
    until(async () => {
      const found = await statuses();
      return Object.entries(expected).every(([subject, status]) => found[subject] === status);
    }).catch(async () => expect(await statuses()).to.include(expected));
  const draftOf = async (subject: string): Promise<string> =>
    (
      await rows(
        `select d.id from read.drafts d join read.threads t on t.id = d.thread_id where subject = '${subject}'`,
      )
    )[0].id;
  /** How often the relay was given a reply for this customer. */
  const left = (subject: string): number =>
    relay.mails.filter(({ to }) => to.includes(`${subject}@customer.example`)).length;

  it("goes on with each of them as it must, once", async () => {
    await become({
      pending: "pending",
      escalating: "pending",
      approved: "approved",
      "approved-to-send": "sent",
      // Their claims are undone.
      claimed: "pending",
      reserved: "pending",
      queued: "sent",
      started: "failed: unconfirmed",
      unknown: "failed: unconfirmed",
      retry: "sent",
      paused: "sending",
    });
    await until(async () => relay.mails.some(({ to }) => to.includes("second@example.com")));
    const asked = relay.mails.filter(({ to }) => to.includes("second@example.com"));
    expect(asked.map(({ content }) => content.toString().includes("The answer to escalating."))).to.deep.equal([true]);
    // What waits for somebody leaves once they have done it, and so does what was claimed in vain.
    const ask = await agentOf("pending");
    for (const subject of ["pending", "escalating", "approved", "claimed", "reserved"])
      await until(async () => (await ask(`POST /v1/drafts/${await draftOf(subject)}/send`)).status === 202);
    const theirs = await agentOf("paused");
    // A new key is known a moment later.
    await until(
      async () => (await theirs("PATCH /v1/workspaces/me", { json: { sending_paused: false } })).status === 200,
    );
    const sent = [
      "pending",
      "escalating",
      "approved",
      "approved-to-send",
      "claimed",
      "reserved",
      "queued",
      "retry",
      "paused",
    ];
    await become(Object.fromEntries(sent.map((subject) => [subject, "sent"])));
    const [{ id: closed }] = await rows("select id from read.identities where status = 'disabled'");
    expect((await ask(`PATCH /v1/identities/${closed}`, { json: { status: "active" } })).status).to.equal(200);
    await until(async () => (await rows("select 1 from read.threads where subject = 'held'")).length === 1);

    // A restart finds nothing else to do.
    await service.stop();
    service = await startService();
    await until(
      async () => (await rows("select 1 from work.lanes where state <> 'waiting' or due_at <= now()")).length === 0,
    );
    expect(Object.fromEntries(sent.map((subject) => [subject, left(subject)]))).to.deep.equal(
      Object.fromEntries(sent.map((subject) => [subject, 1])),
    );
    // One of these had left before.
    expect([left("started"), left("unknown")]).to.deep.equal([0, 0]);
    expect(await rows("select process, error from work.parked")).to.deep.equal([]);
  });
});
