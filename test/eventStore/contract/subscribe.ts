import { expect } from "chai";
import { keepAppendsAtomic } from "#src/eventStore/atomicBatches.ts";
import { noStream, readWholeLog } from "#src/eventStore/eventStore.ts";
import { appendOneByOne, consume, count, idsOf, newCategory, newEvent, newEvents, newStream } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

export function subscribeContract(log: () => LogUnderTest): void {
  describe("subscribe", () => {
    it("a subscription resumes after any position", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      const streams = [newStream(category), newStream(category), newStream(category)];
      const events = await appendOneByOne(store, [...streams, ...streams, ...streams]);
      for (const [index, event] of [{ position: after }, ...events.slice(0, -1)].entries()) {
        const rest = await consume(
          store,
          { after: event.position, categories: [category] },
          count(events.length - index),
        );
        expect(rest.events).to.deep.equal(events.slice(index));
      }
    });

    it("a subscription delivers what is appended while it waits", async () => {
      const { store, makeAnother } = log();
      const another = (await makeAnother?.()) ?? store;
      const category = newCategory();
      const after = await store.head();
      const stream = newStream(category);
      const events = newEvents(20);
      const subscription = consume(store, { after, categories: [category] }, (seen) => {
        const next = events[seen.length];
        // Appends the next event only after the one before it was delivered.
        if (next) another.append(stream, seen.length - 1, [next]).catch(() => {});
        return seen.length === events.length;
      });
      await another.append(stream, noStream, events.slice(0, 1));
      expect(idsOf((await subscription).events)).to.deep.equal(idsOf(events));
      if (another !== store) await another.close();
    });

    it("a subscription delivers only the requested categories, and moves on over the others", async () => {
      const { store } = log();
      const [wanted, also, foreign] = [newCategory(), newCategory(), newCategory()];
      const after = await store.head();
      const all = await appendOneByOne(store, [
        newStream(wanted),
        newStream(foreign),
        newStream(`${wanted}x`),
        newStream(also),
        newStream(foreign),
        newStream(wanted),
      ]);
      const expected = all.filter(
        (event) => event.stream.startsWith(`${wanted}-`) || event.stream.startsWith(`${also}-`),
      );
      const { events, batches } = await consume(store, { after, categories: [wanted, also] }, count(3));
      expect(events).to.deep.equal(expected);
      expect(batches.at(-1)?.position).to.be.at.least(all.at(-1)!.position);
    });

    it("a subscription without categories delivers every category", async () => {
      const { store } = log();
      const after = await store.head();
      const all = await appendOneByOne(store, [newStream(newCategory()), newStream(newCategory()), newStream()]);
      const { events } = await consume(store, { after }, count(3));
      expect(events).to.deep.equal(all);
    });

    it("a subscription keeps batches to the requested size and says when it has caught up", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      await store.append(newStream(category), noStream, newEvents(10));
      const { events, batches } = await consume(
        store,
        { after, categories: [category], batchSize: 3 },
        (seen, batch) => seen.length >= 10 && batch.caughtUp,
      );
      expect(events).to.have.length(10);
      for (const batch of batches) expect(batch.events.length).to.be.at.most(3);
      expect(batches[0]?.caughtUp).to.equal(false);
    });

    it("a subscription can keep each append in one batch, wherever a batch ends", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      const writing = count(60);
      const whole = keepAppendsAtomic(store);
      const readers = [1, 4, undefined].map((batchSize) =>
        consume(whole, { after, categories: [category], ...(batchSize && { batchSize }) }, writing),
      );
      for (let stream = 0; stream < 12; stream++) await store.append(newStream(category), noStream, newEvents(5));
      for (const { batches } of await Promise.all(readers)) {
        for (const { events } of batches) expect(events.length % 5, "an append is parted").to.equal(0);
      }
    });

    it("a subscription waits for its consumer: two at different speeds each see every event", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      await store.append(newStream(category), noStream, newEvents(40));
      const [all, few] = await Promise.all([
        consume(store, { after, categories: [category] }, count(40)),
        consume(store, { after, categories: [category], batchSize: 1 }, count(40)),
      ]);
      expect(few.events).to.deep.equal(all.events);
    });
  });

  describe("an aborted subscription", () => {
    it("an aborted subscription ends while it waits", async () => {
      const { store } = log();
      const abort = new AbortController();
      const iterator = store.subscribe({
        after: await store.head(),
        categories: [newCategory()],
        signal: abort.signal,
      });
      const waiting = untilDone(iterator);
      abort.abort();
      expect(await waiting).to.equal(0);
    });

    it("a subscription that was aborted before never begins", async () => {
      const { store } = log();
      await store.append(newStream(), noStream, [newEvent()]);
      expect(await untilDone(store.subscribe({ after: 0, signal: AbortSignal.abort() }))).to.equal(0);
    });

    it("an aborted subscription delivers nothing after the present batch", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      await store.append(newStream(category), noStream, newEvents(10));
      const abort = new AbortController();
      let batches = 0;
      for await (const batch of store.subscribe({
        after,
        categories: [category],
        batchSize: 2,
        signal: abort.signal,
      })) {
        if (batch.events.length === 0) continue;
        batches++;
        abort.abort();
      }
      expect(batches).to.equal(1);
    });

    it("a read of the whole log is in order, each event once, and ends at its head of that time", async () => {
      const { store } = log();
      const [wanted, other] = [newCategory(), newCategory()];
      const appended = await appendOneByOne(store, [newStream(wanted), newStream(other)]);
      const positions: number[] = [];
      const ids = new Set<string>();
      for await (const { events } of readWholeLog(store)) {
        positions.push(...events.map(({ position }) => position));
        for (const { id } of events) ids.add(id);
      }
      expect(positions).to.deep.equal(positions.toSorted((one, other) => one - other));
      expect(ids.size).to.equal(positions.length);
      expect([...ids]).to.include.members(idsOf(appended));
      // The later events are of another category: the subscription still ends.
      const streams: string[] = [];
      for await (const { events } of readWholeLog(store, [wanted])) streams.push(...events.map(({ stream }) => stream));
      expect(new Set(streams.map((stream) => stream.slice(0, wanted.length)))).to.deep.equal(new Set([wanted]));
    });

    it("an aborted subscription ends no other", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      const abort = new AbortController();
      const one = untilDone(store.subscribe({ after, categories: [category], signal: abort.signal }));
      const other = consume(store, { after, categories: [category] }, count(1));
      abort.abort();
      await one;
      const event = newEvent();
      await store.append(newStream(category), noStream, [event]);
      expect(idsOf((await other).events)).to.deep.equal([event.id]);
    });
  });
}

/** Consumes the subscription to its end, and returns the number of events. */
async function untilDone(batches: ReturnType<LogUnderTest["store"]["subscribe"]>): Promise<number> {
  let events = 0;
  for await (const batch of batches) events += batch.events.length;
  return events;
}
