import { expect } from "chai";
import { noStream } from "#src/eventStore/eventStore.ts";
import { inFull } from "#test/support/full.ts";
import { idsOf, newEvent, newEvents, newStream, revisionsOf, upTo } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

export function readContract(log: () => LogUnderTest): void {
  describe("read", () => {
    it("a read returns a stream's events in order, from a revision on, as many as requested", async () => {
      const { store } = log();
      const stream = newStream();
      const events = newEvents(10);
      await store.append(stream, noStream, events.slice(0, 4));
      await store.append(stream, 3, events.slice(4));
      expect(idsOf(await store.read(stream))).to.deep.equal(idsOf(events));
      expect(revisionsOf(await store.read(stream, 7))).to.deep.equal([7, 8, 9]);
      expect(revisionsOf(await store.read(stream, 2, 3))).to.deep.equal([2, 3, 4]);
      expect(await store.read(stream, 10)).to.deep.equal([]);
      expect(await store.read(stream, 3_000_000_000)).to.deep.equal([]);
      expect(await store.readLast(stream)).to.include({ revision: 9, id: events[9]?.id });
    });

    it("concurrent reads each get their own last events, pages and whole streams", async () => {
      const { store } = log();
      const [short, long, large, empty] = [newStream(), newStream(), newStream(), newStream()];
      await store.append(short, noStream, newEvents(3));
      await store.append(long, noStream, newEvents(25));
      await store.append(large, noStream, [...newEvents(2), newEvent({ text: "x".repeat(400_000) })]);
      const ask = async () => ({
        lasts: (await Promise.all([short, empty, long, large].map((stream) => store.readLast(stream)))).map(
          (event) => event?.revision,
        ),
        pages: (
          await Promise.all(
            [short, long, empty].map((stream) => store.readPage(stream, { from: 1, events: 500, bytes: 1_000_000 })),
          )
        ).map(({ events }) => events.length),
      });
      const [seen, whole, again] = await Promise.all([ask(), store.read(long), ask()]);
      expect(revisionsOf(whole)).to.deep.equal(upTo(25));
      for (const each of [seen, again]) expect(each).to.deep.equal({ lasts: [2, undefined, 24, 2], pages: [2, 24, 0] });
      const mixed = await Promise.all([
        store.readLast(long),
        store.read(long, 20),
        store.readLast(empty),
        store.readPage(short, { from: 0, events: 2, bytes: 1_000_000 }),
      ]);
      expect(mixed[0]).to.include({ revision: 24, stream: long });
      expect(revisionsOf(mixed[1])).to.deep.equal([20, 21, 22, 23, 24]);
      expect(mixed[2]).to.equal(undefined);
      expect(revisionsOf(mixed[3].events)).to.deep.equal([0, 1]);
    });

    it("a page of a stream is cut by events or by bytes, and says whether it reached the end", async () => {
      const { store } = log();
      const stream = newStream();
      const large = () => newEvent({ text: "x".repeat(100_000) });
      await store.append(stream, noStream, [...newEvents(3), large(), large(), ...newEvents(2)]);
      const page = async (from: number, events: number, bytes = 1_000_000) => {
        const read = await store.readPage(stream, { from, events, bytes });
        return { revisions: revisionsOf(read.events), atEnd: read.atEnd };
      };
      expect(await page(0, 500)).to.deep.equal({ revisions: [0, 1, 2, 3, 4, 5, 6], atEnd: true });
      expect(await page(1, 2)).to.deep.equal({ revisions: [1, 2], atEnd: false });
      expect(await page(0, 500, 50_000)).to.deep.equal({ revisions: [0, 1, 2, 3], atEnd: false });
      expect(await page(4, 500, 1)).to.deep.equal({ revisions: [4], atEnd: false });
      expect(await page(4, 500, 150_000)).to.deep.equal({ revisions: [4, 5, 6], atEnd: true });
      expect(await page(7, 500)).to.deep.equal({ revisions: [], atEnd: true });
      expect(await store.readPage(newStream(), { from: 0, events: 5, bytes: 1 })).to.deep.equal({
        events: [],
        atEnd: true,
      });
    });

    it("many concurrent page reads each get their own page", async () => {
      const { store } = log();
      const streams = upTo(20).map(() => newStream());
      const text = "x".repeat(40_000);
      for (const stream of streams)
        await store.append(
          stream,
          noStream,
          upTo(9).map(() => newEvent({ text })),
        );
      const whole = await Promise.all(
        streams.map((stream) => store.readPage(stream, { from: 1, events: 500, bytes: 8_000_000 })),
      );
      for (const { events, atEnd } of whole)
        expect([revisionsOf(events), atEnd]).to.deep.equal([[1, 2, 3, 4, 5, 6, 7, 8], true]);
      const cut = await Promise.all(
        streams.map((stream) => store.readPage(stream, { from: 1, events: 500, bytes: 100_000 })),
      );
      for (const { events, atEnd } of cut) expect([revisionsOf(events), atEnd]).to.deep.equal([[1, 2, 3], false]);
    });

    it("a read of a stream that does not exist is empty", async () => {
      const { store } = log();
      expect(await store.read(newStream())).to.deep.equal([]);
      expect(await store.readLast(newStream())).to.equal(undefined);
    });

    it("streams whose names begin alike are read separately", async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(stream, noStream, newEvents(1));
      await store.append(`${stream}-x`, noStream, newEvents(2));
      await store.append(stream.toUpperCase(), noStream, newEvents(3));
      expect(await store.read(stream)).to.have.length(1);
      expect(await store.read(`${stream}-x`)).to.have.length(2);
      expect(await store.read(stream.toUpperCase())).to.have.length(3);
    });

    it("a long stream is read completely", async () => {
      const { store } = log();
      const stream = newStream();
      for (const part of upTo(3)) await store.append(stream, part * 700 - 1, newEvents(700));
      expect(revisionsOf(await store.read(stream))).to.deep.equal(upTo(2100));
    });

    it("a read never shows a part of an append", async () => {
      const { store, makeAnother } = log();
      const another = (await makeAnother?.()) ?? store;
      const stream = newStream();
      const size = 25;
      const appends = 40;
      const lengths = new Set<number>();
      let writing = true;
      const reader = (async () => {
        while (writing) lengths.add((await another.read(stream)).length);
      })();
      for (const n of upTo(appends)) {
        await store.append(stream, n * size - 1, newEvents(size));
        if (!inFull && lengths.size > 5) break;
      }
      writing = false;
      await reader;
      expect(lengths.size, "the reader looked while it was written").to.be.greaterThan(1);
      for (const length of lengths) expect(length % size).to.equal(0);
      if (another !== store) await another.close();
    });
  });
}
