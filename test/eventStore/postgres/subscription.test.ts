import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { type EventStore, LogRewound, noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import type { Recorded } from "#streams/event.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import {
  consume,
  count,
  errorOf,
  expectRising,
  newCategory,
  newEvent,
  newEvents,
  newStream,
  upTo,
} from "../contract/support.ts";
import { asOwner, cutConnections, untilBlocked } from "./support.ts";

describe("A subscription to the log in PostgreSQL", () => {
  let database: TestDatabase;
  let store: EventStore;
  let other: EventStore;

  beforeEach(async () => {
    database = await createTestDatabase();
    store = createPostgresEventStore({ connectionString: database.serviceUrl });
    other = createPostgresEventStore({ connectionString: database.serviceUrl });
  });
  afterEach(async () => {
    await Promise.all([store.close(), other.close()]);
    await database.drop();
  });

  it("a subscription receives another instance's appends though its listener is cut again and again", async () => {
    const category = newCategory();
    const total = inFull ? 300 : 60;
    let delivered = 0;
    const reading = consume(store, { after: 0, categories: [category] }, (events) => {
      delivered = events.length;
      return delivered >= total;
    });
    let cut = 0;
    for (const n of upTo(total)) {
      await other.append(newStream(category), noStream, [newEvent({ n })]);
      if (n % 10 === 0) cut += await cutConnections(database, "countersign log listener");
    }
    const { events } = await reading;
    expect(events.map(({ data }) => data.n)).to.deep.equal(upTo(total));
    expect(cut).to.be.greaterThan(2);
  });

  it("a subscription misses nothing of many instances that append at once, each on its own connection", async () => {
    const category = newCategory();
    const [instances, each] = inFull ? [16, 60] : [8, 25];
    const stores = upTo(instances).map(() => createPostgresEventStore({ connectionString: database.serviceUrl }));
    const reading = consume(store, { after: 0, categories: [category], batchSize: 5 }, count(instances * each));
    const acknowledged = await Promise.all(
      stores.map(async (instance) => {
        const stream = newStream(category);
        const positions: number[] = [];
        for (const n of upTo(each)) positions.push((await instance.append(stream, n - 1, [newEvent()])).position);
        return positions;
      }),
    );
    const { events } = await reading;
    expect(events.map(({ position }) => position)).to.deep.equal(acknowledged.flat().sort((a, b) => a - b));
    await Promise.all(stores.map((instance) => instance.close()));
  });

  it("a subscription delivers its process's events once, also when appended again or committed with others", async () => {
    const [stream, again] = [newStream(), newStream()];
    const events = newEvents(3);
    const reading = consume(store, { after: 0 }, count(6));
    const appended = await store.append(stream, noStream, events);
    expect(await store.append(stream, noStream, events)).to.deep.equal(appended);
    expect(await errorOf(store.append(stream, noStream, newEvents(1)))).to.be.instanceOf(StreamMoved);
    await Promise.all([store.append(stream, noStream, events), store.append(again, noStream, newEvents(3))]);
    expect((await reading).events).to.deep.equal([...(await store.read(stream)), ...(await store.read(again))]);
  });

  it("a subscription delivers its process's events after earlier ones of others that it was not notified of", async () => {
    const reading = consume(store, { after: 0 }, count(4));
    await store.append(newStream(), noStream, [newEvent()]);
    await asOwner(
      database,
      `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
       values (2, 'note-unheard', 0, gen_random_uuid(), 'T', 1, '{}', '{}', 4)`,
    );
    await store.append(newStream(), noStream, [newEvent()]);
    await store.append(newStream(), noStream, [newEvent()]);
    expect((await reading).events.map(({ position }) => position)).to.deep.equal([1, 2, 3, 4]);
  });

  it("a subscription moves on over events of other categories, and does not read them again", async () => {
    const foreign = newCategory();
    const reading = consume(store, { after: 0, categories: [newCategory()] }, (_, batch) => batch.position >= 5);
    await other.append(newStream(foreign), noStream, newEvents(5));
    expect((await reading).events).to.deep.equal([]);
  });

  it("a subscription ends a batch after the event that makes it large, to keep memory small", async () => {
    const size = 400_000;
    const large = inFull ? 50 : 30;
    for (const _ of upTo(large)) await store.append(newStream(), noStream, [newEvent({ text: "x".repeat(size) })]);
    const { batches, events } = await consume(store, { after: 0 }, count(large));
    expectRising(events.map(({ position }) => position));
    expect(events).to.have.length(large);
    for (const batch of batches) expect(batch.events.length).to.be.at.most(20);
  });

  it("an aborted subscription ends though the database does not answer", async () => {
    // Three pages of events: the first two may be read before the lock.
    await other.append(newStream(), noStream, newEvents(1_200));
    const blocker = new pg.Client({ connectionString: database.ownerUrl });
    await blocker.connect();
    const abort = new AbortController();
    let seen = 0;
    const ended = (async () => {
      for await (const { events } of store.subscribe({ after: 0, batchSize: 1, signal: abort.signal })) {
        if (seen === 0) await blocker.query("begin; lock es.events in access exclusive mode");
        seen += events.length;
      }
    })();
    await untilBlocked(database, "countersign log reader");
    abort.abort();
    await ended;
    expect(seen).to.be.at.most(1_000);
    await blocker.end();
  });

  it("a subscription fails if the log ends before events that it had delivered", async () => {
    const { position } = await store.append(newStream(), noStream, newEvents(10));
    const seen: Recorded[] = [];
    const reading = (async () => {
      for await (const { events } of store.subscribe({ after: 0, signal: new AbortController().signal }))
        seen.push(...events);
    })();
    const ended = errorOf(reading);
    while (seen.length < 10) await sleep(10);
    await loseEvents(5);
    expect(await ended).to.be.instanceOf(LogRewound);
    const fresh = consume(other, { after: position }, count(1));
    expect(await errorOf(fresh)).to.be.instanceOf(LogRewound);
  });

  const ways: readonly { knows: string; learn(instance: EventStore, stream: string): Promise<unknown> }[] = [
    { knows: "committed", learn: (instance, stream) => instance.append(stream, noStream, newEvents(2)) },
    {
      knows: "read",
      async learn(instance, stream) {
        await store.append(stream, noStream, newEvents(2));
        await instance.readLast(stream);
      },
    },
  ];
  for (const { knows, learn } of ways)
    it(`a subscription fails if the log lost what it had ${knows}, though another instance has appended since`, async () => {
      const said: string[] = [];
      const instance = createPostgresEventStore({
        connectionString: database.serviceUrl,
        onRewound: ({ message }) => void said.push(message),
      });
      const stream = newStream();
      await learn(instance, stream);
      await loseEvents(1);
      expect((await other.append(newStream(), noStream, [newEvent()])).position).to.equal(2);
      const ended = errorOf(consume(instance, { after: 2 }, count(1)));
      expect(await ended).to.be.instanceOf(LogRewound);
      await cutConnections(database);
      expect(await errorOf(instance.append(stream, 0, [newEvent()]))).to.be.instanceOf(LogRewound);
      expect((await other.read(stream)).length, "events of the stream").to.equal(1);
      expect(said).to.deep.equal([
        "the event log holds another event at position 2 than it did: it has lost events since",
      ]);
      await instance.close();
    });

  /** Deletes all events after a position, as a failover to a standby without them does. */
  const loseEvents = (after: number) =>
    asOwner(
      database,
      `alter table es.events disable trigger append_only; delete from es.events where position > ${after}; alter table es.events enable trigger append_only`,
    );
});
