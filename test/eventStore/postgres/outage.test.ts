import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import pino from "pino";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { migrate } from "#src/platform/postgres/migrate.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { nodeArguments } from "../../../scripts/support/childProcess.ts";
import { copyCluster } from "../../../scripts/support/cluster.ts";
import {
  appendForSure,
  consume,
  count,
  expectRising,
  newCategory,
  newEvent,
  newStream,
  revisionsOf,
  upTo,
} from "../contract/support.ts";
import { startSilentProxy } from "./silentProxy.ts";
import { backendsOf, cutConnections } from "./support.ts";

const writers = 32;

/** Runs 32 writers of `each` events, and returns the answers that they got. An append with an unknown outcome is repeated. */
async function write(
  store: EventStore,
  { category, each }: { category: string; each: number },
  onAcknowledged: (sum: number) => void,
) {
  const acknowledged = new Map<string, number>();
  await Promise.all(
    upTo(writers).map(async () => {
      const stream = newStream(category);
      for (const n of upTo(each)) {
        const event = newEvent({ n });
        const { position } = await appendForSure(store, { stream, revision: n - 1, events: [event] });
        acknowledged.set(event.id, position);
        onAcknowledged(acknowledged.size);
      }
    }),
  );
  return acknowledged;
}

/** Connects as soon as a server that is being restarted accepts connections. */
async function connectForSure(connectionString: string): Promise<pg.Client> {
  for (;;) {
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    if (
      await client.connect().then(
        () => true,
        () => false,
      )
    )
      return client;
    await sleep(50);
  }
}

/** Expects that the reader saw, and the streams contain, exactly the acknowledged events, once and in order. */
async function expectWhole(
  store: EventStore,
  events: Awaited<ReturnType<typeof consume>>["events"],
  acknowledged: Map<string, number>,
): Promise<void> {
  expectRising(events.map(({ position }) => position));
  expect(new Map(events.map(({ id, position }) => [id, position]))).to.deep.equal(acknowledged);
  for (const stream of new Set(events.map((event) => event.stream))) {
    const own = await store.read(stream);
    expect(revisionsOf(own)).to.deep.equal(upTo(own.length));
  }
}

describe("The event log in PostgreSQL, when things die", () => {
  it("the log loses and doubles nothing while writer, listener and readers are cut again and again", async () => {
    const database = await createTestDatabase();
    const store = createPostgresEventStore({ connectionString: database.serviceUrl });
    const category = newCategory();
    const cuts: Promise<number>[] = [];
    const each = inFull ? 60 : 20;
    const reading = consume(store, { after: 0, categories: [category], batchSize: 20 }, count(writers * each));
    const acknowledged = await write(store, { category, each }, (sum) => {
      if (sum % 100 === 0) cuts.push(cutConnections(database));
    });
    expect((await Promise.all(cuts)).reduce((sum, cut) => sum + cut)).to.be.greaterThan(5);
    await expectWhole(store, (await reading).events, acknowledged);
    await store.close();
    await database.drop();
  });

  it("the log continues over fresh connections when the network swallows everything on the old ones", async () => {
    const database = await createTestDatabase();
    const proxy = await startSilentProxy(database.serviceUrl);
    const store = createPostgresEventStore({ connectionString: proxy.url, timeoutMs: 400 });
    const category = newCategory();
    let silenced = 0;
    const reading = consume(store, { after: 0, categories: [category], batchSize: 50 }, count(writers * 20));
    const acknowledged = await write(store, { category, each: 20 }, (sum) => {
      if (sum % 250 !== 0) return;
      silenced += 1;
      proxy.silence();
    });
    const beside = createPostgresEventStore({ connectionString: database.serviceUrl });
    await expectWhole(beside, (await reading).events, acknowledged);
    await beside.close();
    expect(silenced).to.equal(2);
    await store.close();
    proxy.close();
    await database.drop();
  });

  it("the log's listener reconnects when the network swallows everything on its connection", async () => {
    const database = await createTestDatabase();
    const proxy = await startSilentProxy(database.serviceUrl);
    const store = createPostgresEventStore({ connectionString: proxy.url, timeoutMs: 300 });
    const other = createPostgresEventStore({ connectionString: database.serviceUrl });
    const category = newCategory();
    const reading = consume(store, { after: 0, categories: [category] }, count(2));
    await other.append(newStream(category), -1, [newEvent()]);
    const listeners = () => backendsOf(database, "countersign log listener");
    let before: number[] = [];
    while (before.length === 0) {
      before = await listeners();
      await sleep(20);
    }
    proxy.silence();
    while ((await listeners()).every((pid) => before.includes(pid))) await sleep(50);
    await other.append(newStream(category), -1, [newEvent()]);
    expect((await reading).events).to.have.length(2);
    await Promise.all([store.close(), other.close()]);
    proxy.close();
    await database.drop();
  });

  describe("the event log with a separate server", () => {
    let directory: string;
    let server: EmbeddedPostgres;

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), "countersign-log-"));
      const dataDir = join(directory, "data");
      await copyCluster(dataDir);
      server = await startEmbeddedPostgres({ dataDir, logger: pino({ level: "silent" }) });
      await migrate(server.ownerUrl, "countersign_service");
    });
    after(async () => {
      await server.stop();
      for (const path of [directory, server.directory]) await rm(path, { recursive: true, force: true });
    });

    it("the log loses no acknowledged event when its server is killed", async () => {
      const store = createPostgresEventStore({ connectionString: server.serviceUrl });
      const category = newCategory();
      const after = await store.head();
      const killed: number[] = [];
      const [each, killedAt] = inFull ? [100, [500, 1500, 2500]] : [20, [150, 450]];
      const reading = consume(store, { after, categories: [category] }, count(writers * each));
      const acknowledged = await write(store, { category, each }, (sum) => {
        if (!killedAt.includes(sum)) return;
        killed.push(server.pid());
        process.kill(server.pid(), "SIGKILL");
      });
      await expectWhole(store, (await reading).events, acknowledged);
      expect(new Set(killed).size, "each kill hit a server that had come up again").to.equal(killedAt.length);
      await store.close();
    });

    it("a store that was closed while the server was away does not connect again", async () => {
      const store = createPostgresEventStore({ connectionString: server.serviceUrl });
      const other = createPostgresEventStore({ connectionString: server.serviceUrl });
      const category = newCategory();
      const reading = consume(store, { after: await other.head(), categories: [category] }, count(1));
      await other.append(newStream(category), -1, [newEvent()]);
      await reading;
      const killed = server.pid();
      process.kill(killed, "SIGKILL");
      // By then some attempts of the listener to reconnect have failed.
      await sleep(200);
      await store.close();
      // A connection may outlive the server for a moment, and append before it is restarted.
      while (server.pid() === killed) await sleep(10);
      await appendForSure(other, { stream: newStream(category), revision: -1, events: [newEvent()] });
      const listeners = "select 1 from pg_stat_activity where application_name = 'countersign log listener'";
      const owner = await connectForSure(server.ownerUrl);
      let found = 0;
      for (let looks = 0; looks < 15; looks++) {
        found += (await owner.query(listeners)).rows.length;
        await sleep(100);
      }
      await Promise.all([owner.end(), other.close()]);
      expect(found).to.equal(0);
    });
  });

  describe("the event log with instances in separate processes", () => {
    let database: TestDatabase;
    const children: ChildProcess[] = [];
    /** Listens immediately, so that the child's first output is not missed. */
    const start = (category: string, appends: number): ChildProcess => {
      const [flag, script] = nodeArguments("test/eventStore/postgres/appendAll.ts");
      const child = fork(script, [database.serviceUrl, category, String(appends)], { execArgv: [flag] });
      children.push(child);
      return child;
    };

    before(async () => {
      database = await createTestDatabase();
    });
    after(async () => {
      for (const child of children) child.kill("SIGKILL");
      await database.drop();
    });

    it("the log has one order for all instances; a stopped one delays nobody, and a killed one leaves no half append", async () => {
      const store = createPostgresEventStore({ connectionString: database.serviceUrl });
      const category = newCategory();
      const killed = start(category, 1_000_000);
      await once(killed, "message");
      const [appends, rounds] = inFull ? [1500, 10] : [500, 4];
      const [steady, stopped] = [start(category, appends), start(category, appends)];
      // Listens for the ends from the start, because on a busy machine one child may end before the other one begins.
      const [steadyEnd, stoppedEnd] = [once(steady, "exit"), once(stopped, "exit")];
      await Promise.all([steady, stopped].map((child) => once(child, "message")));
      for (const round of upTo(rounds)) {
        stopped.kill("SIGSTOP");
        for (const n of upTo(20)) await store.append(newStream("mine"), -1, [newEvent({ round, n })]);
        stopped.kill("SIGCONT");
        await store.readLast(newStream());
      }
      stopped.kill("SIGSTOP");
      killed.kill("SIGKILL");
      expect(await steadyEnd, "the steady one ends while another is stopped").to.deep.equal([0, null]);
      stopped.kill("SIGCONT");
      expect(await stoppedEnd).to.deep.equal([0, null]);

      const head = await store.head();
      const { events } = await consume(
        store,
        { after: 0, categories: [category] },
        (_, batch) => batch.position >= head,
      );
      const streams = new Map<string, number[]>();
      for (const { stream, revision } of events) streams.set(stream, [...(streams.get(stream) ?? []), revision]);
      for (const revisions of streams.values()) expect(revisions).to.deep.equal(upTo(revisions.length));
      for (const child of [steady, stopped]) {
        const own = events.filter(({ data }) => data.pid === child.pid);
        expect(own).to.have.length(appends);
      }
      await store.close();
    });
  });
});
