import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { type EventStore, LogRewound, noStream } from "#src/eventStore/eventStore.ts";
import { createEventStoreDbStore } from "#src/eventStore/eventStoreDb/store.ts";
import type { Recorded } from "#streams/event.ts";
import { foreignEvent } from "#test/support/eventStoreDbStandIn/log.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { inFull } from "#test/support/full.ts";
import { consume, count, errorOf, idsOf, newEvent, newEvents, newStream, upTo } from "./contract/support.ts";

describe("EventStoreDB adapter: subscriptions in trouble", () => {
  let server: EventStoreDbStandIn;
  let store: EventStore;
  let complaints: string[];

  beforeEach(async () => {
    server = await new EventStoreDbStandIn().start();
    complaints = [];
    const log = (_: object, message: string): void => {
      complaints.push(message);
    };
    const logger = { warn: log, error: log };
    store = createEventStoreDbStore({ connectionString: server.url, timeoutMs: 2000, logger });
  });
  afterEach(async () => {
    await store.close();
    server.stop();
  });

  const categories = ["draft"];
  const consumeDrafts = (enough: Parameters<typeof consume>[2], after = 0) =>
    consume(store, { after, categories }, enough);
  const forever = (): boolean => false;
  const liveSubscriptions = async (number = 1): Promise<void> => {
    const live = () => [...server.calls.subscriptions].filter((subscription) => subscription.live).length;
    while (live() < number) await new Promise(setImmediate);
  };

  it("an EventStoreDB subscription loses and repeats nothing when the server finds it too slow", async () => {
    const burstOf = inFull ? 500 : 150;
    const consuming = consumeDrafts(count(3 * burstOf));
    await liveSubscriptions();
    const stream = newStream("draft");
    const bursts = upTo(3).map(() => newEvents(burstOf));
    // On a busy machine a burst may take longer than this store's default timeout.
    const patient = createEventStoreDbStore({ connectionString: server.url, timeoutMs: 60_000 });
    for (const [index, burst] of bursts.entries()) await patient.append(stream, index * burstOf - 1, burst);
    await patient.close();
    expect(idsOf((await consuming).events)).to.deep.equal(idsOf(bursts.flat()));
    while (server.calls.subscriptionsOpened < 2) await new Promise(setImmediate);
  });

  it("an EventStoreDB subscription reports no position beyond what it delivered, also to a slow consumer", async () => {
    const stream = newStream("draft");
    for (const n of upTo(60)) {
      await store.append(stream, n - 1, [newEvent()]);
      server.writeForeign(7);
    }
    const positions = (await store.read(stream)).map((event) => event.position);
    let delivered = 0;
    const slow = store.subscribe({ after: 0, categories, batchSize: 1, signal: new AbortController().signal });
    for await (const batch of slow) {
      delivered += batch.events.length;
      const passed = positions.filter((position) => position <= batch.position).length;
      expect(passed, `events up to ${batch.position}`).to.equal(delivered);
      if (batch.caughtUp) expect(delivered).to.equal(60);
      if (batch.caughtUp) break;
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
  });

  it("an EventStoreDB subscription resumes from every position that it reported", async () => {
    const stream = newStream("draft");
    for (const n of upTo(10)) {
      await store.append(stream, n - 1, [newEvent()]);
      server.writeForeign(3);
    }
    const all = await store.read(stream);
    const { batches } = await consume(store, { after: 0, categories, batchSize: 3 }, (_, batch) => batch.caughtUp);
    for (const { position } of batches.slice(0, -1)) {
      const rest = await consumeDrafts((_, batch) => batch.caughtUp, position);
      expect(rest.events).to.deep.equal(all.filter((event) => event.position > position));
    }
  });

  for (const code of [status.UNAVAILABLE, status.CANCELLED, status.UNKNOWN, status.INTERNAL, status.ABORTED]) {
    it(`an EventStoreDB subscription continues at its position after the server drops it with ${status[code]}`, async () => {
      const other = createEventStoreDbStore({ connectionString: server.url });
      const events = newEvents(5);
      const stream = newStream("draft");
      let delivered = 0;
      const consuming = consumeDrafts((seen) => {
        delivered = seen.length;
        return delivered === events.length;
      });
      for (const [n, event] of events.entries()) {
        while (server.calls.subscriptionsOpened <= n) await new Promise(setImmediate);
        await other.append(stream, n - 1, [event]);
        while (delivered <= n) await new Promise(setImmediate);
        server.dropSubscriptions(code);
      }
      expect(idsOf((await consuming).events)).to.deep.equal(idsOf(events));
      await other.close();
    });
  }

  it("an EventStoreDB subscription waits for a server that is away, also at its start", async () => {
    server.stop();
    const consuming = consumeDrafts(count(1));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await server.start();
    const event = newEvent();
    await store.append(newStream("draft"), noStream, [event]);
    expect(idsOf((await consuming).events)).to.deep.equal([event.id]);
  });

  it("an EventStoreDB subscription that went silent still delivers what another instance appends", async () => {
    const consuming = consumeDrafts(count(1));
    await liveSubscriptions();
    server.stallSubscriptions();
    const other = createEventStoreDbStore({ connectionString: server.url });
    const event = newEvent();
    await other.append(newStream("draft"), noStream, [event]);
    expect(idsOf((await consuming).events)).to.deep.equal([event.id]);
    await other.close();
  });

  it("an EventStoreDB subscription without events says once that it has caught up", async () => {
    const { batches } = await consumeDrafts((_, batch) => batch.caughtUp);
    expect(batches.at(-1)?.events).to.deep.equal([]);
    expect(batches.at(-1)?.position).to.equal(await store.head());
  });

  it("an EventStoreDB subscription moves over thousands of foreign events to the end of the log", async () => {
    const event = newEvent();
    server.writeForeign(5000);
    await store.append(newStream("draft"), noStream, [event]);
    server.writeForeign(5000);
    const { events, batches } = await consumeDrafts((_, batch) => batch.caughtUp);
    expect(idsOf(events)).to.deep.equal([event.id]);
    expect(batches.at(-1)?.position).to.equal(await store.head());
  });

  it("an EventStoreDB subscription follows foreign events while it waits for its own", async () => {
    const far: number[] = [];
    for await (const { position } of store.subscribe({ after: 0, categories, signal: new AbortController().signal })) {
      far.push(position);
      if (far.length === 5) break;
      server.writeForeign(1);
      await store.append(newStream("thread"), noStream, [newEvent()]);
    }
    expect(far.at(-1)).to.be.greaterThan(far[0]!);
  });

  it("an EventStoreDB subscription without categories delivers only what this service wrote", async () => {
    server.writeForeign(50, "draft-foreign");
    const event = newEvent();
    await store.append(newStream("draft"), noStream, [event]);
    server.writeForeign(50);
    const { events, batches } = await consume(store, { after: 0 }, (_, batch) => batch.caughtUp);
    expect(idsOf(events)).to.deep.equal([event.id]);
    expect(batches.at(-1)?.position).to.equal(await store.head());
  });

  it("an EventStoreDB subscription passes over a foreign record that is larger than a page", async () => {
    const [first, second] = [newEvent(), newEvent()];
    await store.append(newStream("draft"), noStream, [first]);
    const consuming = consumeDrafts(count(2));
    server.log.write("somebodyElse-1", [{ ...foreignEvent(), data: Buffer.alloc(3_000_000, " ") }]);
    const { position } = server.log.records.at(-1)!;
    await consumeDrafts((_, batch) => batch.position === position && batch.caughtUp);
    await store.append(newStream("draft"), noStream, [second]);
    expect(idsOf((await consuming).events)).to.deep.equal(idsOf([first, second]));
  });

  describe("an EventStoreDB subscription on a log that was replaced", () => {
    async function expectStopped(consuming: Promise<unknown>): Promise<void> {
      expect(await errorOf(consuming)).to.be.instanceOf(LogRewound);
      expect(complaints.at(-1)).to.contain("stopping");
    }

    async function written(events = 20): Promise<Recorded> {
      const stream = newStream("draft");
      await store.append(stream, noStream, newEvents(events));
      return (await store.readLast(stream))!;
    }

    it("an EventStoreDB subscription stops when events arrive at lower positions", async () => {
      await written();
      const consuming = consumeDrafts((seen) => {
        if (seen.length === 20) server.wipe();
        return false;
      });
      consuming.catch(() => {});
      while (server.log.records.length > 20) await new Promise(setImmediate);
      await store.append(newStream("draft"), noStream, newEvents(3));
      await expectStopped(consuming);
    });

    it("an EventStoreDB subscription stops when the log was wiped while nothing arrived", async () => {
      await written();
      const consuming = consumeDrafts((seen) => {
        if (seen.length === 20) server.wipe();
        return false;
      });
      await expectStopped(consuming);
    });

    it("an EventStoreDB subscription stops when the server returns empty", async () => {
      await written();
      const consuming = consumeDrafts((seen) => {
        if (seen.length === 20) {
          server.wipe();
          server.restart();
        }
        return false;
      });
      await expectStopped(consuming);
    });

    it("an EventStoreDB subscription stops at a position beyond the log's end", async () => {
      const { position } = await written();
      await expectStopped(consumeDrafts(forever, position + 1_000_000));
    });

    it("an EventStoreDB subscription stops at a position that no record has", async () => {
      const { position } = await written();
      await written();
      await expectStopped(consumeDrafts(forever, position + 1));
    });

    it("an EventStoreDB store is usable after a subscription stopped", async () => {
      const { position } = await written();
      await expectStopped(consumeDrafts(forever, position + 1_000_000));
      await written(1);
      const { events } = await consumeDrafts(count(21));
      expect(events).to.have.length(21);
    });

    it("a new EventStoreDB subscription delivers nothing of the old log", async () => {
      const { position } = await written(600);
      await consumeDrafts(count(600));
      server.wipe();
      await expectStopped(consumeDrafts(forever, position));
      const known = await written(3);
      const { events } = await consumeDrafts(count(3));
      expect(events.map(({ stream }) => stream)).to.deep.equal([known.stream, known.stream, known.stream]);
    });
  });
});
