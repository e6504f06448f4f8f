import { randomBytes } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { type Ask, asking } from "#test/support/asking.ts";
import { begunDraft, edited } from "#test/support/events.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { endLeasesOfDead, type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { bySubject, deliveriesOf, isRising, settled, webhook } from "./webhookWorld.ts";

describe("webhook delivery with crashes and several instances [d11 webhooks]", () => {
  let database: TestDatabase;
  let store: EventStore;
  let env: Record<string, string>;
  let ask: Ask;
  let living: { url: string; stop(): Promise<void> };
  const others: SecondInstance[] = [];
  let workspaceId: string;

  beforeEach(async () => {
    database = await createTestDatabase({ readModels: true });
    env = {
      SECRETS_KEYS: `k1:${randomBytes(32).toString("base64")}`,
      WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
      WEBHOOK_RETRY_SECONDS: "1,1,1,1",
      RATE_LIMIT_READ: "off",
      RATE_LIMIT_WRITE: "off",
    };
  });
  afterEach(async () => {
    await living?.stop();
    await Promise.all(others.splice(0).map((each) => each.stop()));
    await store?.close();
    await database?.drop();
  });

  const startHere = async (): Promise<SecondInstance> => {
    const started = await startSecondInstance(database, env);
    others.push(started);
    return started;
  };
  /** Sets the first instance; one that will be killed is a separate process. */
  async function begin<Started extends SecondInstance | TestService>(started: Started): Promise<Started> {
    living = started;
    ask = asking(() => living.url, started.apiKey!);
    workspaceId = (await ask("GET /v1/workspaces/me")).json.id;
    store = createPostgresEventStore({ connectionString: database.serviceUrl });
    return started;
  }

  it("a webhook event that a killed instance sent and did not record is sent again with the same id", async () => {
    const first = await begin(await startService({ database, env }));
    const sql = new pg.Client({ connectionString: database.ownerUrl });
    await sql.connect();
    let killed: Promise<unknown> | undefined;
    const receiver = await startReceiver(async () => {
      killed ??= first.kill("SIGKILL");
      await killed;
      return 200;
    });
    const { id } = await webhook(ask, receiver.url, ["draft.created"]);
    await begunDraft({ store }, workspaceId);
    await until(async () => killed !== undefined);
    await killed;
    if (!inFull) await endLeasesOfDead(sql);
    await sql.end();
    living = await startHere();
    const [delivery] = await settled(ask, id, { count: 1 });
    expect(receiver.requests.map((each) => each.id)).to.deep.equal([delivery.event_id, delivery.event_id]);
    expect(receiver.requests[1]!.text).to.equal(receiver.requests[0]!.text);
    expect(delivery).to.include({ status: "delivered", attempts: 2 });
    expect(delivery.attempt_log[0].error).to.match(/interrupted/);
    await receiver.stop();
  });

  it("a webhook event interrupted by a stop is sent again at once, and the next one follows in order [d11 order]", async () => {
    const first = await begin(await startHere());
    let patient = true;
    const receiver = await startReceiver(() => (patient ? () => undefined : 200));
    const { id } = await webhook(ask, receiver.url, ["draft.created", "draft.updated"]);
    const { next } = await begunDraft({ store }, workspaceId);
    await next("DraftEdited", edited(2));
    await until(async () => receiver.requests.length === 1);
    await first.stop();
    patient = false;
    living = await startHere();
    // The interrupted delivery is due at once; no lease has to run out.
    const all = await settled(ask, id, { count: 2 });
    expect(all.map(({ status }) => status)).to.deep.equal(["delivered", "delivered"]);
    expect(receiver.requests.map(({ body }) => body.type)).to.deep.equal([
      "draft.created",
      "draft.created",
      "draft.updated",
    ]);
    await receiver.stop();
  });

  itInFull(
    "each draft's webhook events arrive in order with two instances, one of which is killed [d11 order]",
    async () => {
      const first = await begin(await startService({ database, env }));
      const tries = new Map<string, number>();
      const receiver = await startReceiver(async ({ id }) => {
        const number = (tries.get(id) ?? 0) + 1;
        tries.set(id, number);
        await new Promise((resolve) => setTimeout(resolve, Number.parseInt(id.slice(-1), 16)));
        return number === 1 && /[0-3]$/.test(id) ? 500 : 200;
      });
      const { id } = await webhook(ask, receiver.url, ["draft.created", "draft.updated"]);
      living = await startHere();
      const [drafts, versions] = [10, 12];
      const begun = await Promise.all(Array.from({ length: drafts }, () => begunDraft({ store }, workspaceId)));
      const writing = Promise.all(
        begun.map(async ({ next }) => {
          for (let version = 2; version <= versions; version++) await next("DraftEdited", edited(version));
        }),
      );
      await until(async () => receiver.requests.length > 15);
      await first.kill("SIGKILL");
      await writing;
      const all = await settled(ask, id, { count: drafts * versions });
      expect(all.filter(({ status }) => status === "delivered")).to.have.length(drafts * versions);
      const shown = bySubject(receiver.requests);
      expect(shown.size).to.equal(drafts);
      for (const [draftId, sequences] of shown) {
        const once = sequences.filter((sequence, index) => sequences.indexOf(sequence) === index);
        expect([draftId, once.length, isRising(once)]).to.deep.equal([draftId, versions, true]);
        expect(
          [...sequences].sort((a, b) => a - b),
          draftId,
        ).to.deep.equal(sequences);
      }
      expect((await deliveriesOf(ask, id)).every(({ attempts }) => attempts <= 5)).to.equal(true);
      await receiver.stop();
    },
  );
});
