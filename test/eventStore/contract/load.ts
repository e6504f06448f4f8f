import { expect } from "chai";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { inFull } from "#test/support/full.ts";
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
} from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

const writers = 32;
const appendsEach = inFull ? 40 : 5;

export function loadContract(log: () => LogUnderTest): void {
  describe("32 writers", () => {
    it("32 writers and a reader: no event is missing, repeated or out of order", async () => {
      const { store, makeAnother } = log();
      const another = (await makeAnother?.()) ?? store;
      const category = newCategory();
      const after = await store.head();
      const reading = consume(another, { after, categories: [category], batchSize: 50 }, count(writers * appendsEach));
      const acknowledged = await writeAll([store, another], category);
      expectEverything((await reading).events, acknowledged);
      if (another !== store) await another.close();
    });

    it("32 writers and a reader that resubscribes after every other batch: no event is missing or repeated", async () => {
      const { store } = log();
      const category = newCategory();
      const after = await store.head();
      const reading = readInPieces(store, after, category);
      const acknowledged = await writeAll([store], category);
      expectEverything(await reading, acknowledged);
    });

    it("32 writers whose connections are cut: no event is lost or doubled", async function () {
      const { store, interrupt } = log();
      if (!interrupt) this.skip();
      const category = newCategory();
      const after = await store.head();
      const reading = consume(store, { after, categories: [category], batchSize: 100 }, count(writers * appendsEach));
      const cuts = { at: inFull ? [100, 400, 700, 1000] : [40, 100], interrupt };
      const acknowledged = await writeAll([store], category, cuts);
      expectEverything((await reading).events, acknowledged);
    });
  });
}

type Cuts = { at: number[]; interrupt: () => Promise<void> };

/** Every writer fills a stream of its own. Returns position by event id of everything that was acknowledged. */
async function writeAll(stores: EventStore[], category: string, cuts?: Cuts): Promise<Map<string, number>> {
  const acknowledged = new Map<string, number>();
  const interruptions: Promise<void>[] = [];
  async function write(store: EventStore): Promise<void> {
    const stream = newStream(category);
    for (const n of upTo(appendsEach)) {
      const event = newEvent({ n });
      const { position, revision } = await appendForSure(store, { stream, revision: n - 1, events: [event] });
      expect(revision).to.equal(n);
      acknowledged.set(event.id, position);
      if (cuts?.at.includes(acknowledged.size)) interruptions.push(cuts.interrupt());
    }
  }
  await Promise.all(upTo(writers).map((n) => write(stores[n % stores.length]!)));
  await Promise.all(interruptions);
  return acknowledged;
}

/** Takes one or two batches a subscription, then starts a new one where it stopped. */
async function readInPieces(store: EventStore, after: number, category: string): Promise<Recorded[]> {
  const events: Recorded[] = [];
  let position = after;
  while (events.length < writers * appendsEach) {
    let batches = 0;
    const piece = await consume(store, { after: position, categories: [category], batchSize: 17 }, (seen, batch) => {
      position = batch.position;
      batches += 1;
      return batches === 1 + (events.length % 2) || events.length + seen.length === writers * appendsEach;
    });
    events.push(...piece.events);
  }
  return events;
}

function expectEverything(events: readonly Recorded[], acknowledged: Map<string, number>): void {
  expect(events).to.have.length(writers * appendsEach);
  expectRising(events.map((event) => event.position));
  expect(new Set(events.map((event) => event.id)).size).to.equal(acknowledged.size);
  for (const event of events) expect(acknowledged.get(event.id), event.id).to.equal(event.position);
  const streams = new Map<string, Recorded[]>();
  for (const event of events) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
  expect(streams.size).to.equal(writers);
  for (const own of streams.values()) expect(revisionsOf(own)).to.deep.equal(upTo(appendsEach));
}
