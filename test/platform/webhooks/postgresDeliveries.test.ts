import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import type { BegunDelivery, NewDelivery, WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { createPostgresDeliveries, type Woken } from "#src/platform/webhooks/postgresDeliveries.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const attempt = { at: new Date(0).toISOString(), response_status: 500, error: "no", duration_ms: 1 };
const delivered = { ...attempt, response_status: 200, error: null };
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

  it("a cancelled delivery stays cancelled, whatever a try under way results in", async () => {
    const one = queue();
    await deliveries.add([made(one, 1), made(one, 2)]);
    const { id } = await begun(one);
    await deliveries.cancel(one.webhookId, "deleted");
    await deliveries.settle(id, attempt, { status: "again", afterMs: 0 });
    expect((await listed(one)).map(({ status }) => status)).to.deep.equal(["canceled", "canceled"]);
    expect(await deliveries.begin(one)).to.equal(undefined);
  });

  it("a delivery that ended more than 30 days ago is not listed, and is removed when another is stored", async () => {
    const one = queue();
    const [old, recent] = [made(one, 1), made(one, 2)];
    await deliveries.add([old, recent]);
    await deliveries.cancel(one.webhookId, "deleted");
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
