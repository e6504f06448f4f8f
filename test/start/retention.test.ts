import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ruleEvaluations } from "#projections/ruleEvaluations/projector.ts";
import { listEvaluations, rulesRunBefore } from "#projections/ruleEvaluations/queries.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createOutbox } from "#src/mail/out/outbox.ts";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createProjectionRunner, type ProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { type PrunableProjection, pruneBatch } from "#src/runtime/projections/prune.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { type RowRetention, removeOldRows, startRetention } from "#src/start/retention.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";
import { append, eventually, newEvent, quietLog } from "../runtime/projections/support.ts";

const now = new Date("2026-06-30T12:00:00.000Z");
const dayMs = 86_400_000;
const daysAgo = (days: number): string => new Date(now.getTime() - days * dayMs).toISOString();
const until = (days: number): { until: Date } => ({ until: new Date(daysAgo(days)) });
const prunable = ruleEvaluations as PrunableProjection;

describe("retention of rows", () => {
  const workspaceId = randomUUID();
  const draftId = randomUUID();
  const [ruleA, ruleB] = [randomUUID(), randomUUID()];
  let test: TestDatabase;
  let database: BackgroundDatabase;
  let store: EventStore;
  let runner: ProjectionRunner;
  const { signal } = new AbortController();

  beforeEach(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
    store = createPostgresEventStore({ connectionString: test.serviceUrl, logger: quietLog() });
    runner = createProjectionRunner({
      ...{ store, database, projections: [ruleEvaluations], logger: quietLog(), instanceId: randomUUID() },
    });
    await runner.start();
  });
  afterEach(async () => {
    await runner.stop();
    await store.close();
    await database.close();
    await test.drop();
  });

  const deps = (projected = true) => ({
    ...{ store, database, clock: { now: () => now }, projected: async () => projected },
  });
  const remove = (retention: Partial<RowRetention>, projected = true) =>
    removeOldRows(deps(projected), { evaluations: "never", outbox: "never", ...retention }, signal);

  /** Records that both rules ran about the draft; the first one matched. */
  async function evaluated(at: string): Promise<string> {
    const runId = randomUUID();
    const event = newEvent("RulesEvaluated", {
      ...{ workspaceId, triggerEvent: "draft.approved", triggerEventId: randomUUID(), facts: {} },
      subject: { identityId: randomUUID(), threadId: randomUUID(), messageId: null, draftId },
      results: [ruleA, ruleB].map((ruleId) => ({
        ...{ ruleId, ruleName: "Rule", version: 1, matched: ruleId === ruleA },
        actions: [{ action: { type: "set_priority", priority: "high" }, suppressed: null }],
      })),
    });
    await append(store, `ruleRun-${runId}`, { ...event, metadata: { ...event.metadata, correlationId: "one", at } });
    return runId;
  }
  const acted = (runId: string) =>
    append(
      store,
      `ruleRun-${runId}`,
      newEvent("RuleActionTaken", { ruleId: ruleA, index: 0, outcome: "done", reason: null }),
    );

  async function listed(ruleId: string): Promise<string[]> {
    const page = await listEvaluations(database.reads, workspaceId, { ruleId, limit: 100, offset: 0 });
    expect(page.total).to.equal(page.data.length);
    return page.data.map(({ id }) => id);
  }
  const verified = () => verify({ store, database, tablesSql: tablesFile, signal }, ruleEvaluations);
  const expectReplayEqual = async () => expect((await verified()).differences).to.deep.equal([]);

  it("evaluations are removed after their days, the oldest first and not before, and a replay gives the same rows", async () => {
    const [oldest, old, kept] = [
      await evaluated(daysAgo(41)),
      await evaluated(daysAgo(40)),
      await evaluated(daysAgo(39.9)),
    ];
    await runner.caughtUp();
    await remove({ evaluations: "never" });
    expect(await listed(ruleA)).to.deep.equal([kept, old, oldest]);

    expect(await pruneBatch(database, prunable, { ...until(40), size: 1 })).to.equal(true);
    expect(await listed(ruleB)).to.deep.equal([kept, old]);
    await expectReplayEqual();
    await remove({ evaluations: 40 });
    // An action that is recorded late about a removed evaluation brings nothing back.
    await acted(oldest);
    await acted(kept);
    await runner.caughtUp();
    for (const ruleId of [ruleA, ruleB]) expect(await listed(ruleId)).to.deep.equal([kept]);
    expect((await database.query("select id from rule_runs")).rows).to.deep.equal([{ id: kept }]);
    const subject = { correlationId: "one", subjectId: draftId, runId: randomUUID() };
    expect(await rulesRunBefore(database.reads, workspaceId, subject)).to.deep.equal([
      { rule_id: ruleA, run_id: kept },
    ]);
    await expectReplayEqual();
    expect(await pruneBatch(database, prunable, until(40))).to.equal(false);
  });

  it("runs of the same moment are removed together, and counts of nothing are gone", async () => {
    for (let times = 0; times < 3; times++) await evaluated(daysAgo(50));
    await runner.caughtUp();
    expect(await pruneBatch(database, prunable, { ...until(40), size: 1 })).to.equal(true);
    expect(await listed(ruleA)).to.deep.equal([]);
    expect((await database.query("select * from rule_evaluation_counts")).rows).to.deep.equal([]);
    await expectReplayEqual();
  });

  it("verify finds a row that is missing although it is not old enough to be removed", async () => {
    await evaluated(daysAgo(50));
    const kept = await evaluated(daysAgo(20));
    await runner.caughtUp();
    await remove({ evaluations: 40 });
    await database.query("delete from rule_runs where id = $1", [kept]);
    const { differences } = await verified();
    expect(differences.map(({ table, side }) => `${table} ${side}`)).to.deep.equal(["rule_runs replayed"]);
  });

  it("a rebuild brings old evaluations back until they are removed again", async () => {
    await evaluated(daysAgo(50));
    const kept = await evaluated(daysAgo(20));
    await runner.caughtUp();
    await remove({ evaluations: 40 });
    await rebuild({ store, database, tablesSql: tablesFile, signal }, [ruleEvaluations]);
    expect(await listed(ruleA)).to.have.length(2);
    await expectReplayEqual();
    await remove({ evaluations: 40 });
    expect(await listed(ruleA)).to.deep.equal([kept]);
    await expectReplayEqual();
  });

  it("nothing is removed from a read model that is still being filled", async () => {
    await evaluated(daysAgo(50));
    await runner.caughtUp();
    await remove({ evaluations: 40 }, false);
    expect(await listed(ruleA)).to.have.length(1);
  });

  it("rows are not removed while a projector writes, nor twice by two instances", async () => {
    const runs = [];
    for (let times = 0; times < 6; times++) runs.push(await evaluated(daysAgo(60 - times)));
    await runner.caughtUp();
    const removing = await database.transaction(async (tx) => {
      await tx.query("select 1 from work.checkpoints where name = 'ruleEvaluations' for update");
      const begun = Promise.all([remove({ evaluations: 40 }), remove({ evaluations: 40 })]);
      begun.catch(() => {});
      await eventually(async () => {
        const waiting = "select 1 from pg_locks where not granted and database is null";
        return (await tx.query(waiting)).rows.length > 0;
      });
      expect(await listed(ruleA)).to.have.length(6);
      return { begun };
    });
    await Promise.all(runs.map(acted));
    await removing.begun;
    await runner.caughtUp();
    expect(await listed(ruleA)).to.deep.equal([]);
    await expectReplayEqual();
  });

  it("caught mail is removed after its days and not before, over several batches, also by two instances at once", async () => {
    const caught = (days: number, count: number) =>
      database.query(
        `insert into work.outbox (at, attempt_id, message_id, envelope, mime)
         select $1, 'a', '<a@ours.example>', '{"from":"a@ours.example","to":[]}', '' from generate_series(1, $2)`,
        [daysAgo(days), count],
      );
    await caught(31, 250);
    await caught(30.1, 1);
    await caught(29.9, 3);
    await remove({ outbox: "never" });
    expect(await createOutbox(database).newest(1_000)).to.have.length(254);
    await Promise.all([remove({ outbox: 30 }), remove({ outbox: 30 })]);
    await remove({ outbox: 30 });
    const left = await createOutbox(database).newest(1_000);
    expect(left.map(({ at }) => at.toISOString())).to.deep.equal(Array(3).fill(daysAgo(29.9)));
  });

  it("a service removes old rows by its settings", async () => {
    const caught = (attemptId: string, days: number) =>
      database.query(
        `insert into work.outbox (at, attempt_id, message_id, envelope, mime)
         values (now() - $2 * interval '1 day', $1, '<a@ours.example>', '{"from":"a@ours.example","to":[]}', '')`,
        [attemptId, days],
      );
    await caught("old", 11);
    await caught("young", 9);
    const runId = await evaluated(new Date(Date.now() - 36 * dayMs).toISOString());
    await evaluated(new Date(Date.now() - 34 * dayMs).toISOString());
    await runner.caughtUp();
    await runner.stop();
    const service = await startSecondInstance(test, {
      RETENTION_DAYS_OUTBOX: "10",
      RETENTION_DAYS_EVALUATIONS: "35",
    });
    try {
      const left = async () => (await database.query("select attempt_id from work.outbox")).rows;
      await eventually(async () => (await left()).length === 1);
      expect(await left()).to.deep.equal([{ attempt_id: "young" }]);
      await eventually(async () => (await listed(ruleA)).length === 1);
      expect(await listed(ruleA)).not.to.include(runId);
    } finally {
      await service.stop();
    }
  });

  it("old rows are removed again and again until the service stops, also after a failure", async () => {
    const log = quietLog();
    let failures = 0;
    const failing = { ...deps(), clock: { now: () => (++failures === 1 ? new Date(Number.NaN) : now) } };
    const clock = startRetention(failing, { evaluations: 40, outbox: "never" }, { log, everyMs: 5 });
    try {
      await evaluated(daysAgo(50));
      await runner.caughtUp();
      await eventually(async () => (await listed(ruleA)).length === 0);
      expect(log.said.map(({ message }) => message)).to.include("cannot remove old rows, trying again later");
    } finally {
      await clock.close();
    }
    const before = failures;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(failures).to.equal(before);
  });
});
