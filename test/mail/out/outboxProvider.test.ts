import { expect } from "chai";
import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MayStillSend, OutgoingMail } from "#src/mail/mailProvider.ts";
import { createOutbox } from "#src/mail/out/outbox.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { emptyLetter } from "#test/support/letter.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const mail = (attemptId: string): OutgoingMail => ({
  attemptId,
  envelope: { from: "a@ours.example", to: ["ann@theirs.example", "hidden@theirs.example"] },
  messageId: `<${attemptId}@ours.example>`,
  mime: Buffer.from(
    `From: Ann <a@ours.example>\r\nSubject: ${attemptId}\r\nX-Two: 1\r\nX-Two: 2\r\n\r\nraw \xff bytes\r\n`,
    "latin1",
  ),
  letter: emptyLetter,
});

describe("the outbox provider", () => {
  let server: TestDatabase;
  let database: Database;
  let owner: pg.Client;

  before(async () => {
    server = await createTestDatabase();
    database = connectDatabase(server);
    owner = new pg.Client(server.ownerUrl);
    await owner.connect();
  });
  after(async () => {
    await database.close();
    await owner.end();
    await server.drop();
  });

  const handOver = async (attemptId: string, mayWrite: MayStillSend = () => true) =>
    (await createOutboxProvider(database).connect()).handOver(mail(attemptId), mayWrite);

  it("the outbox provider stores the exact bytes with their envelope", async () => {
    expect(await handOver("caught")).to.include({ kind: "accepted" });
    const outbox = createOutbox(database);
    const [found] = await outbox.newest(1);
    expect(found).to.deep.include({
      attemptId: "caught",
      messageId: "<caught@ours.example>",
      envelope: mail("caught").envelope,
      from: { name: "Ann", address: "a@ours.example" },
      subject: "caught",
      html: null,
    });
    expect(found?.headers["x-two"]).to.equal("1, 2");
    expect((await outbox.raw(found!.id))?.equals(mail("caught").mime)).to.equal(true);
  });

  it("the outbox provider shows a mail that was handed over twice as two", async () => {
    const provider = createOutboxProvider(database);
    const attempt = { attemptId: "twice", recipients: [], since: new Date(0) };
    expect(await provider.lookUp(attempt)).to.equal(undefined);
    await handOver("twice");
    expect([await provider.accepts("twice"), await provider.lookUp(attempt)]).to.deep.equal([1, "accepted"]);
    await handOver("twice");
    expect(await provider.accepts("twice")).to.equal(2);
  });

  it("the outbox is read on from any mail, oldest first, over several pages", async () => {
    const [last] = await createOutbox(database).newest(1);
    for (let n = 0; n < 120; n += 1) await handOver(`paged-${n}`);
    const attempts: string[] = [];
    for await (const each of createOutbox(database).after(last!.id)) attempts.push(each.attemptId);
    expect(attempts).to.deep.equal(Array.from({ length: 120 }, (_, n) => `paged-${n}`));
  });

  it("the outbox provider writes nothing after a no, and no second mail over one connection", async () => {
    expect(await handOver("forbidden", () => false)).to.include({ kind: "not_handed_over" });
    const provider = createOutboxProvider(database);
    const connection = await provider.connect();
    await connection.handOver(mail("once"), () => true);
    expect(await connection.handOver(mail("once"), () => true)).to.include({ kind: "not_handed_over" });
    expect([await provider.accepts("forbidden"), await provider.accepts("once")]).to.deep.equal([0, 1]);
  });

  it("the outbox provider reports the database's refusal as retryable", async () => {
    await owner.query(`revoke insert on work.outbox from ${server.serviceRole}`);
    expect(await handOver("revoked")).to.include({ kind: "refused", retryable: true, code: "42501" });
    await owner.query(`grant insert on work.outbox to ${server.serviceRole}`);
  });

  it("the outbox provider reports unknown if its connection ends during the hand-over", async () => {
    await owner.query("begin");
    await owner.query("lock table work.outbox in access exclusive mode");
    const outcome = handOver("killed");
    await terminateWaitingSession();
    expect(await outcome).to.include({ kind: "unknown" });
    await owner.query("rollback");
    expect(await handOver("after")).to.include({ kind: "accepted" });
  });

  it("the outbox provider without a database is unavailable or hands nothing over", async () => {
    const gone = connectDatabase({ serviceUrl: server.serviceUrl, ownerUrl: server.ownerUrl });
    const connection = await createOutboxProvider(gone).connect();
    await gone.close();
    expect(await connection.handOver(mail("gone"), () => true)).to.include({ kind: "not_handed_over" });
    const error = await createOutboxProvider(gone)
      .connect()
      .catch((reason) => reason);
    expect(error).to.be.instanceOf(Unavailable);
  });

  /** Ends the session that waits for the lock. Only a superuser can see what another role's session waits for. */
  async function terminateWaitingSession() {
    const admin = new pg.Client(process.env.TEST_DATABASE_ADMIN_URL);
    await admin.connect();
    const waiting = "select pid from pg_stat_activity where usename = $1 and wait_event_type = 'Lock'";
    while (
      !(await admin.query(`select pg_terminate_backend(pid) from (${waiting}) as waiting`, [server.serviceRole]))
        .rowCount
    )
      await admin.query("select pg_sleep(0.01)");
    await admin.end();
  }
});
