import { expect } from "chai";
import { type EventStore, type NewEvent, noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { consume, count, errorOf, newCategory, newEvent, newEvents, newStream, upTo } from "../contract/support.ts";
import { asOwner, backendsOf } from "./support.ts";

/** Not what it will be when it was written out and read again. */
const changing = (): NewEvent => ({
  ...newEvent({
    left: undefined,
    when: new Date(0),
    negativeZero: -0,
    none: Number.NaN,
    list: [undefined, Number.POSITIVE_INFINITY, { gone: undefined }],
    text: "\ud83d half, \u0000, Grüße",
    asItself: { toJSON: () => ({ said: "so" }) },
  }),
  id: newEvent().id.toUpperCase(),
});

describe("What this process appends to the log in PostgreSQL", () => {
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

  /** The log as one who wrote nothing of it reads it. */
  const asRead = async (events: number) => {
    const reader = createPostgresEventStore({ connectionString: database.serviceUrl });
    try {
      return (await consume(reader, { after: 0 }, count(events))).events;
    } finally {
      await reader.close();
    }
  };

  it("comes to its own readers as a read would bring it, without one", async () => {
    const [moved, one, two] = [newStream(), newStream(), newStream()];
    const reading = consume(store, { after: 0 }, count(10));
    const ofDrafts = consume(store, { after: 0, categories: ["draft"] }, count(1));
    await store.append(moved, noStream, newEvents(2));
    const event = changing();
    const appends = [
      store.append(one, noStream, [event, ...newEvents(2)]),
      store.append(moved, noStream, newEvents(3)),
      store.append(two, noStream, newEvents(2)),
    ];
    event.data.text = "changed by the caller afterwards";
    const [, conflict] = await Promise.allSettled(appends);
    expect(conflict).to.have.property("reason").that.is.instanceOf(StreamMoved);
    await store.append(two, 1, [changing(), changing()]);
    await store.append(newStream("draft"), noStream, [newEvent()]);
    const { events } = await reading;
    expect((await ofDrafts).events).to.deep.equal(events.slice(-1));
    expect(await backendsOf(database, "countersign log reader"), "who was asked").to.deep.equal([]);
    const read = await asRead(10);
    expect(events).to.deep.equal(read);
    expect(JSON.stringify(events)).to.equal(JSON.stringify(read));
    expect(read[4]!.position - read[2]!.position, "over the places of the refused").to.equal(2);
  });

  it("comes once, though it is appended again", async () => {
    const [stream, again] = [newStream(), newStream()];
    const events = newEvents(3);
    const reading = consume(store, { after: 0 }, count(6));
    const appended = await store.append(stream, noStream, events);
    expect(await store.append(stream, noStream, events)).to.deep.equal(appended);
    expect(await errorOf(store.append(stream, noStream, newEvents(1)))).to.be.instanceOf(StreamMoved);
    // In one commit: what is there already, and what is not.
    await Promise.all([store.append(stream, noStream, events), store.append(again, noStream, newEvents(3))]);
    expect((await reading).events).to.deep.equal(await asRead(6));
  });

  it("comes in one order with what others append in between", async () => {
    const category = newCategory();
    const each = 40;
    const stores = [store, other];
    const readings = stores.map((one) => consume(one, { after: 0 }, count(stores.length * each)));
    await Promise.all(
      stores.map(async (one, index) => {
        const stream = newStream(category);
        for (const n of upTo(each)) {
          await one.append(stream, n - 1, [newEvent({ n })]);
          // Now in turn, now at once, now one several times.
          if (n % 5 === index) await one.readLast(stream);
        }
      }),
    );
    const read = await asRead(stores.length * each);
    for (const reading of readings) expect((await reading).events).to.deep.equal(read);
  });

  it("comes after what others appended before it, whether that was heard of or not", async () => {
    const reading = consume(store, { after: 0 }, count(4));
    await store.append(newStream(), noStream, [newEvent()]);
    // Nobody is told of this one.
    await asOwner(
      database,
      `insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
       values (2, 'note-unheard', 0, gen_random_uuid(), 'T', 1, '{}', '{}', 4)`,
    );
    await store.append(newStream(), noStream, [newEvent()]);
    await store.append(newStream(), noStream, [newEvent()]);
    const { events } = await reading;
    expect(events.map(({ position }) => position)).to.deep.equal([1, 2, 3, 4]);
    expect(events).to.deep.equal(await asRead(4));
  });
});
