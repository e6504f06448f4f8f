import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connectDatabase, type Database } from "#src/postgres/database.ts";
import type { Busy, Claim, NewDelivery, WebhookDeliveries } from "#src/webhooks/deliveries.ts";
import { createPostgresDeliveries } from "#src/webhooks/postgresDeliveries.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const limits = { limit: 64, perWebhook: 8, perWorkspace: 32 };

describe("which webhook deliveries come next", () => {
  let test: TestDatabase;
  let database: Database;
  let deliveries: WebhookDeliveries;

  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
    deliveries = createPostgresDeliveries(database);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });
  beforeEach(async () => {
    for (const table of ["webhook_queues", "webhook_deliveries"]) await database.query(`delete from work.${table}`);
  });

  /** So many deliveries to each of so many webhooks of a workspace, each about something else. */
  async function due(webhooks: number, each: number): Promise<string> {
    const workspaceId = randomUUID();
    const made = Array.from({ length: webhooks }, () => randomUUID()).flatMap((webhookId) =>
      Array.from({ length: each }, () => delivery(workspaceId, webhookId)),
    );
    await deliveries.add(made);
    return workspaceId;
  }

  it("one workspace has at most its part, however many webhooks it has, and another one's comes beside it", async () => {
    const many = await due(20, 10);
    const one = await due(1, 1);
    const claims = await deliveries.claim({ ...limits, busy: [] });
    expect(countBy(claims, "workspace_id")).to.deep.equal({ [many]: 32, [one]: 1 });
    expect(Math.max(...Object.values(countBy(claims, "webhook_id")))).to.be.at.most(8);
    expect(await deliveries.claim({ ...limits, busy: busyWith(claims) })).to.deep.equal([]);
  });

  it("a place that becomes free is for the workspace with the fewest in hand, though others have waited longer", async () => {
    const many = await due(20, 10);
    const claims = await deliveries.claim({ ...limits, limit: 20, busy: [] });
    expect(countBy(claims, "workspace_id")).to.deep.equal({ [many]: 20 });
    const one = await due(1, 1);
    const [next] = await deliveries.claim({ ...limits, limit: 1, busy: busyWith(claims) });
    expect(next?.workspace_id).to.equal(one);
  });

  it("each delivery is taken once, and none before its time", async () => {
    await due(1, 3);
    const first = await deliveries.claim({ ...limits, limit: 2, busy: [] });
    await deliveries.settle(first[0]!, attempt, { status: "again", afterMs: 60_000 });
    const rest = await deliveries.claim({ ...limits, busy: [] });
    expect(rest).to.have.length(1);
    expect(new Set([...first, ...rest].map(({ id }) => id)).size).to.equal(3);
    expect(await deliveries.claim({ ...limits, busy: [] })).to.deep.equal([]);
  });

  it("something is due where one of many webhooks has it, and nothing while all is in hand or waits for its time", async () => {
    expect(await deliveries.areDue([]), "nothing there").to.equal(false);
    await due(3, 1);
    expect(await deliveries.areDue([]), "new").to.equal(true);
    const [first, ...others] = await deliveries.claim({ ...limits, busy: [] });
    expect(await deliveries.areDue([]), "in hand").to.equal(false);
    for (const claim of others) await deliveries.settle(claim, attempt, { status: "again", afterMs: 60_000 });
    expect(await deliveries.areDue([]), "later").to.equal(false);
    await deliveries.settle(first!, attempt, { status: "again", afterMs: 0 });
    expect(await deliveries.areDue([]), "again at once").to.equal(true);
    expect(await deliveries.areDue([first!.webhook_id]), "of one that has enough").to.equal(false);
    expect(await deliveries.areDue([others[0]!.webhook_id]), "of another one").to.equal(true);
    expect(await deliveries.claim({ ...limits, busy: [] })).to.have.length(1);
  });
});

const attempt = { at: new Date(0).toISOString(), response_status: 500, error: "no", duration_ms: 1 };

const delivery = (workspaceId: string, webhookId: string): NewDelivery => ({
  id: randomUUID(),
  webhook_id: webhookId,
  workspace_id: workspaceId,
  event_id: randomUUID(),
  event_type: "draft.created",
  subject: randomUUID(),
  position: 1,
  part: 0,
  body: "{}",
});

function countBy(claims: readonly Claim[], column: "workspace_id" | "webhook_id"): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const claim of claims) counts[claim[column]] = (counts[claim[column]] ?? 0) + 1;
  return counts;
}

const busyWith = (claims: readonly Claim[]): Busy[] =>
  Object.entries(countBy(claims, "webhook_id")).map(([webhook_id, count]) => ({
    webhook_id,
    workspace_id: claims.find((claim) => claim.webhook_id === webhook_id)!.workspace_id,
    count,
  }));
