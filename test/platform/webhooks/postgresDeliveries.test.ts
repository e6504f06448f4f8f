import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import type { BegunDelivery, NewDelivery, WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { createPostgresDeliveries, type Woken } from "#src/platform/webhooks/postgresDeliveries.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const attempt = { at: new Date(0).toISOString(), response_status: 500, response_body: "", error: "no", duration_ms: 1 };
const delivered = { ...attempt, response_status: 200, response_body: "ok", error: null };
const canceled = { status: "canceled", error: "deleted" } as const;
const skipped = { status: "skipped", error: "the webhook was disabled: 410" } as const;
const workspaceId = randomUUID();
const window = { limit: 50, offset: 0 };

describe("the rows of webhook deliveries", () => {
  let test: TestDatabase;
  let database: Database;
  let deliveries: WebhookDeliveries;
  let woken: Woken[] = [];
  let wakeFails = false;

  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
    deliveries = createPostgresDeliveries(database, async (_, queues) => {
      if (wakeFails) throw new Error("no lane");
      woken.push(...queues);
    });
  });
  after(async () => {
    await database.close();
    await test.drop();
  });
  beforeEach(() => {
    woken = [];
    wakeFails = false;
  });

  const queue = () => ({ webhookId: randomUUID(), subject: randomUUID() });
  const made = (of: ReturnType<typeof queue>, position: number, part = 0): NewDelivery => ({
    id: randomUUID(),
    webhook_id: of.webhookId,
    workspace_id: workspaceId,
    event_id: randomUUID(),
    event_type: "draft.created",
    subject: of.subject,
    position,
    part,
    body: "{}",
  });
  const begun = async (of: ReturnType<typeof queue>): Promise<BegunDelivery> => {
    const next = await deliveries.begin(of);
    if (next === undefined || "dueInMs" in next) throw new Error(`not begun: ${JSON.stringify(next)}`);
    return next;
  };
  const listed = async (of: ReturnType<typeof queue>) =>
    (await deliveries.list(workspaceId, of.webhookId, window)).data;

  it("a queue's deliveries are begun one after the other, in the order of the log, however they were stored", async () => {
    const [one, other] = [queue(), queue()];
    const [third, first, second] = [made(one, 9), made(one, 3), made(one, 3, 1)];
    await deliveries.add([third, first, second, made(other, 1)]);
    for (const expected of [first, second, third]) {
      const next = await begun(one);
      expect([next.id, next.event_id, next.attempt]).to.deep.equal([expected.id, expected.event_id, 1]);
      await deliveries.settle(next.id, delivered, { status: "delivered" });
    }
    expect(await deliveries.begin(one)).to.equal(undefined);
  });

  it("a failed delivery is not begun before its time, nor is one after it; a retry by hand makes it due", async () => {
    const one = queue();
    const [first, second] = [made(one, 1), made(one, 2)];
    await deliveries.add([first, second]);
    await deliveries.settle((await begun(one)).id, attempt, { status: "again", afterMs: 60_000 });
    const waits = (await deliveries.begin(one)) as { dueInMs: number };
    expect(waits.dueInMs).to.be.within(50_000, 60_000);
    woken = [];
    expect(await deliveries.retry(workspaceId, one.webhookId, first.id)).to.equal(true);
    expect(woken.map(({ subject }) => subject)).to.deep.equal([one.subject]);
    const again = await begun(one);
    expect([again.id, again.attempt]).to.deep.equal([first.id, 2]);
    expect(await deliveries.retry(randomUUID(), one.webhookId, first.id), "another workspace's").to.equal(false);
  });

  it("each queue is woken once by new deliveries, and nothing stays that could not wake it", async () => {
    const [one, other] = [queue(), queue()];
    const known = made(one, 1);
    await deliveries.add([known, made(one, 2), made(other, 1)]);
    expect(woken.map(({ subject }) => subject).sort()).to.deep.equal([one.subject, other.subject].sort());
    woken = [];
    await deliveries.add([known]);
    expect(woken).to.deep.equal([]);
    wakeFails = true;
    const third = queue();
    const failure = await deliveries.add([made(third, 1)]).catch((error: Error) => error.message);
    expect(failure).to.equal("no lane");
    expect(await listed(third)).to.deep.equal([]);
  });

  it("a try that crashed is listed as interrupted; one interrupted in order does not raise the next try's number", async () => {
    const one = queue();
    await deliveries.add([made(one, 1)]);
    await begun(one);
    const { id, attempt: second } = await begun(one);
    expect(second).to.equal(2);
    await deliveries.settle(id, { ...attempt, response_status: null }, { status: "interrupted" });
    expect((await begun(one)).attempt).to.equal(2);
    const [shown] = await listed(one);
    expect(shown!.attempt_log.map(({ error }) => error)).to.deep.equal([
      "interrupted: what became of it is not known",
      "no",
    ]);
    expect(shown).to.include({ status: "pending", attempts: 3 });
  });

  it("the newest 30 tries of a delivery are kept", async () => {
    const one = queue();
    await deliveries.add([made(one, 1)]);
    for (let n = 1; n <= 32; n++) {
      const { id } = await begun(one);
      await deliveries.settle(id, { ...attempt, duration_ms: n }, { status: "again", afterMs: 0 });
    }
    const [shown] = await listed(one);
    expect(shown!.attempt_log.map(({ duration_ms }) => duration_ms)).to.deep.equal(
      Array.from({ length: 30 }, (_, n) => n + 3),
    );
  });

  for (const unsent of [canceled, skipped]) {
    it(`a ${unsent.status} delivery stays so, whatever a try under way results in, unless the receiver took it`, async () => {
      const [one, other] = [queue(), queue()];
      await deliveries.add([made(one, 1), made(one, 2), made(other, 1)]);
      const [failing, taken] = [await begun(one), await begun(other)];
      for (const { webhookId } of [one, other]) await deliveries.endUnsent(webhookId, unsent);
      await deliveries.settle(failing.id, attempt, { status: "again", afterMs: 0 });
      await deliveries.settle(taken.id, delivered, { status: "delivered" });
      expect((await listed(one)).map(({ status }) => status)).to.deep.equal([unsent.status, unsent.status]);
      expect(await listed(other)).to.have.length(1);
      expect((await listed(other))[0]).to.include({ status: "delivered", error: null, response_body: "ok" });
      expect(await deliveries.begin(one)).to.equal(undefined);
    });
  }

  it("a skipped delivery is listed with its reason, wakes no queue, and is not begun before it is retried", async () => {
    const one = queue();
    const [off, on] = [{ ...made(one, 1), error: skipped.error }, made(one, 2)];
    await deliveries.add([off]);
    expect(woken).to.deep.equal([]);
    expect((await listed(one))[0]).to.include({ ...skipped, attempts: 0, next_attempt_at: null, response_body: null });
    expect((await listed(one))[0]!.ended_at).to.be.instanceOf(Date);
    expect(await deliveries.begin(one)).to.equal(undefined);
    await deliveries.add([on]);
    await deliveries.retry(workspaceId, one.webhookId, off.id);
    expect([(await begun(one)).id, (await listed(one)).length]).to.deep.equal([off.id, 2]);
  });

  it("what was not delivered in a span of time is retried in the order of the log, and nothing else", async () => {
    const [one, other] = [queue(), queue()];
    const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n));
    const statuses = ["skipped", "delivered", "failed", "canceled", "skipped", "skipped"];
    const all = statuses.map((_, n) => made(one, n));
    const test = { ...made({ ...one, subject: randomUUID() }, 0), event_type: "webhook.test" };
    await deliveries.add([...all, test, { ...made(other, 1), error: "off" }]);
    const set = `update work.webhook_deliveries set status = $2, ended_at = now(), created_at = $3::timestamptz + interval '0.4 ms' where id = $1`;
    for (const [n, { id }] of all.entries()) await database.query(set, [id, statuses[n], at(n)]);
    await database.query(set, [test.id, "failed", at(2)]);
    woken = [];
    const retry = (from: number, to: number | null, workspace = workspaceId) =>
      deliveries.retryAll(workspace, one.webhookId, { from: at(from), to: to === null ? null : at(to) });
    expect(await retry(0, 5, randomUUID()), "another workspace's").to.deep.equal({ retried: 0, newest: null });
    // The shown time of creation has milliseconds: as an end of the span it includes its delivery.
    expect((await retry(1, 4)).retried).to.equal(3);
    expect(woken.map(({ subject }) => subject)).to.deep.equal([one.subject]);
    const sent: string[] = [];
    for (let n = 0; n < 3; n++) {
      const next = await begun(one);
      sent.push(next.id);
      await deliveries.settle(next.id, delivered, { status: "delivered" });
    }
    expect(sent).to.deep.equal([2, 3, 4].map((n) => all[n]!.id));
    const rest = await retry(0, null);
    expect([rest.retried, Math.floor(rest.newest!.getTime() / 1000)]).to.deep.equal([2, at(5).getTime() / 1000]);
    expect((await listed(other))[0]!.status).to.equal("skipped");
  });

  it("a delivery that ended more than 30 days ago is not listed, and is removed when another is stored", async () => {
    const one = queue();
    const [old, recent] = [made(one, 1), made(one, 2)];
    await deliveries.add([old, recent]);
    await deliveries.endUnsent(one.webhookId, canceled);
    const endedAt = "update work.webhook_deliveries set ended_at = now() - $2::interval where id = $1";
    await database.query(endedAt, [old.id, "31 days"]);
    await database.query(endedAt, [recent.id, "29 days"]);
    expect((await listed(one)).map(({ id }) => id)).to.deep.equal([recent.id]);
    // An instance sweeps old rows when it adds its first delivery.
    await createPostgresDeliveries(database, async () => undefined).add([made(queue(), 1)]);
    const { rows } = await database.query("select id from work.webhook_deliveries where webhook_id = $1", [
      one.webhookId,
    ]);
    expect(rows).to.deep.equal([{ id: recent.id }]);
  });
});
