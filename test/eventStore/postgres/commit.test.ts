import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { type EventStore, InvalidAppend, noStream, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import {
  appendForSure,
  errorOf,
  expectRising,
  newEvent,
  newEvents,
  newStream,
  revisionsOf,
  upTo,
} from "../contract/support.ts";
import { asOwner } from "./support.ts";

describe("A group commit in PostgreSQL", () => {
  let database: TestDatabase;
  let store: EventStore;

  before(async () => {
    database = await createTestDatabase();
    store = createPostgresEventStore({ connectionString: database.serviceUrl });
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  const transactionsOf = async (streams: string[]): Promise<string[]> => {
    const sql = `select distinct xmin::text as xid from es.events where stream_id in ('${streams.join("','")}')`;
    return (await asOwner<{ xid: string }>(database, sql)).map(({ xid }) => xid);
  };

  it("a group commit takes concurrent appends together, and a conflict fails only its own append", async () => {
    const [one, moved, two] = [newStream(), newStream(), newStream()];
    await store.append(moved, noStream, [newEvent()]);
    const [first, conflict, second] = await Promise.allSettled([
      store.append(one, noStream, newEvents(2)),
      store.append(moved, noStream, [newEvent()]),
      store.append(two, noStream, newEvents(3)),
    ]);
    expect(conflict).to.have.property("reason").that.is.instanceOf(StreamMoved);
    expect([first.status, second.status]).to.deep.equal(["fulfilled", "fulfilled"]);
    expect(await transactionsOf([one, two])).to.have.length(1);
    for (const [stream, result] of [
      [one, first],
      [two, second],
    ] as const) {
      const last = await store.readLast(stream);
      expect(result).to.have.property("value").that.deep.equals({ revision: last?.revision, position: last?.position });
    }
  });

  it("a group commit notifies once", async () => {
    const listener = new pg.Client({ connectionString: database.ownerUrl });
    await listener.connect();
    const heard: number[] = [];
    listener.on("notification", ({ payload }) => heard.push(Number(payload!.split(" ")[0])));
    await listener.query("listen events");
    const streams = upTo(40).map(() => newStream());
    const appended = await Promise.all(streams.map((stream) => store.append(stream, noStream, newEvents(2))));
    const committed = await transactionsOf(streams);
    while (heard.at(-1) !== Math.max(...appended.map(({ position }) => position))) await listener.query("select 1");
    expect(heard).to.have.length(committed.length);
    expect(committed.length).to.be.lessThan(5);
    await listener.end();
  });

  it("a group commit refuses an id that is stored in another stream, and only that append", async () => {
    const used = newEvent();
    await store.append(newStream(), noStream, [used]);
    const streams = upTo(10).map(() => newStream());
    const results = await Promise.allSettled(
      streams.map((stream, n) => store.append(stream, noStream, [newEvent(), n === 4 ? used : newEvent()])),
    );
    for (const [n, result] of results.entries()) {
      if (n === 4) expect(result).to.have.property("reason").that.is.instanceOf(InvalidAppend);
      else expect(result.status).to.equal("fulfilled");
      expect(await store.read(streams[n]!)).to.have.length(n === 4 ? 0 : 2);
    }
  });

  it("a group commit takes an id that two streams bring at once for one of them", async () => {
    const shared = newEvent();
    const streams = [newStream(), newStream()];
    const results = await Promise.allSettled(streams.map((stream) => store.append(stream, noStream, [shared])));
    expect(results.map(({ status }) => status)).to.have.members(["fulfilled", "rejected"]);
  });

  it("an id is not written twice at the stream's current revision", async () => {
    const stream = newStream();
    const event = newEvent();
    await store.append(stream, noStream, [event]);
    expect(await errorOf(store.append(stream, 0, [event]))).to.be.instanceOf(InvalidAppend);
    expect(await store.read(stream)).to.have.length(1);
  });

  it("an append is Unavailable if the database does not answer, and is written once when repeated", async () => {
    const impatient = createPostgresEventStore({ connectionString: database.serviceUrl, timeoutMs: 300 });
    const blocker = new pg.Client({ connectionString: database.ownerUrl });
    await blocker.connect();
    await blocker.query("begin; lock es.events in access exclusive mode");
    const stream = newStream();
    const event = newEvent();
    const appends = upTo(20).map((n) =>
      impatient.append(n === 0 ? stream : newStream(), noStream, [n === 0 ? event : newEvent()]),
    );
    for (const append of appends) expect(await errorOf(append)).to.be.instanceOf(Unavailable);
    expect(await errorOf(impatient.read(stream))).to.be.instanceOf(Unavailable);
    await blocker.end();
    const { position } = await appendForSure(impatient, { stream, revision: noStream, events: [event] });
    expect(await impatient.append(stream, noStream, [event])).to.deep.equal({ revision: 0, position });
    expect(await impatient.read(stream)).to.have.length(1);
    await impatient.close();
  });

  it("appends are judged by what is committed, whatever isolation the role begins with", async () => {
    const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_ADMIN_URL });
    await admin.connect();
    await admin.query(`alter role ${database.serviceRole} set default_transaction_isolation = 'repeatable read'`);
    const stores = upTo(4).map(() => createPostgresEventStore({ connectionString: database.serviceUrl }));
    const stream = newStream();
    const won = { count: 0 };
    await Promise.all(
      stores.map(async (each) => {
        while (won.count < (inFull ? 100 : 30)) {
          const last = await each.readLast(stream);
          const append = each.append(stream, last?.revision ?? noStream, [newEvent({ id: randomUUID() })]);
          await append.then(
            () => won.count++,
            (error) => expect(error).to.be.instanceOf(StreamMoved),
          );
        }
      }),
    );
    const events = await store.read(stream);
    expect(revisionsOf(events)).to.deep.equal(upTo(won.count));
    expectRising(events.map(({ position }) => position));
    await Promise.all(stores.map((each) => each.close()));
    await admin.query(`alter role ${database.serviceRole} reset all`);
    await admin.end();
  });

  it("a closing store finishes requested appends, and takes no more", async () => {
    const closing = createPostgresEventStore({ connectionString: database.serviceUrl });
    const streams = upTo(50).map(() => newStream());
    const appends = streams.map((stream) => closing.append(stream, noStream, [newEvent()]));
    const waiting = (async () => {
      for await (const _ of closing.subscribe({
        after: await store.head(),
        categories: ["none"],
        signal: new AbortController().signal,
      }));
    })();
    await Promise.all([closing.close(), closing.close(), ...appends]);
    await waiting;
    expect(await errorOf(closing.append(newStream(), noStream, [newEvent()]))).to.be.instanceOf(Unavailable);
  });
});
