import { expect } from "chai";
import fc from "fast-check";
import { keepAppendsAtomic } from "#src/eventStore/atomicBatches.ts";
import type { Batch, EventStore } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";

/** Sizes of the batches in which the log delivers the events (0: only the position moves). */
type Cuts = readonly number[];

/**
 * Returns the batches that result from these events, delivered in such batches, and from the events read after them. Each batch is consumed
 * before the next one is requested.
 */
async function read(events: readonly Recorded[], cuts: Cuts): Promise<Batch[]> {
  async function* brought(): AsyncGenerator<Batch> {
    let at = 0;
    for (const cut of [...cuts, events.length]) {
      const taken = events.slice(at, at + cut);
      at += taken.length;
      const position = (events[at - 1]?.position ?? 0) + (taken.length === 0 ? 1 : 0);
      yield { events: taken, position, caughtUp: at === events.length };
    }
  }
  return batchesOf(brought);
}

async function batchesOf(subscribe: () => AsyncIterable<Batch>): Promise<Batch[]> {
  const store = { subscribe } as unknown as EventStore;
  const batches: Batch[] = [];
  const { signal } = new AbortController();
  for await (const batch of keepAppendsAtomic(store).subscribe({ after: 0, signal })) batches.push(batch);
  return batches;
}

/** A log of appends of these sizes, to one of three streams each; `told`: its events say how many follow. */
function logOf(appends: readonly { size: number; stream: number; told: boolean }[]): Recorded[] {
  const revisions = new Map<string, number>();
  const events: Recorded[] = [];
  for (const { size, stream: number, told } of appends) {
    const stream = `thread-${number}`;
    for (let more = size - 1; more >= 0; more--) {
      const revision = revisions.get(stream) ?? 0;
      revisions.set(stream, revision + 1);
      const metadata = told && more > 0 ? { more } : {};
      events.push({ stream, revision, position: 1 + 2 * events.length, metadata } as unknown as Recorded);
    }
  }
  return events;
}

describe("The events of one append", () => {
  it("the events of one append arrive in one batch, however the log is read, and none is lost or late", async () => {
    const appends = fc.array(
      fc.record({ size: fc.integer({ min: 1, max: 5 }), stream: fc.nat(2), told: fc.constantFrom(true, true, false) }),
      { minLength: 1, maxLength: 12 },
    );
    // At least 1: an empty batch is delivered only if no event is on its way.
    const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(appends, cuts, async (sizes, brought) => {
        const log = logOf(sizes);
        const batches = await read(log, brought);
        expect(batches.flatMap(({ events }) => events)).to.deep.equal(log);
        for (const { events, position } of batches) {
          expect(events.at(-1)?.metadata.more, "an append is parted").to.equal(undefined);
          if (events.length > 0) expect(position).to.equal(events.at(-1)!.position);
        }
        expect(batches.at(-1)!.position).to.be.at.least(log.at(-1)!.position);
        expect(batches.at(-1)!.caughtUp).to.equal(true);
      }),
      { numRuns: 500 },
    );
  });

  it("an incomplete append that is followed by another event is delivered", async () => {
    const log = logOf([{ size: 4, stream: 1, told: true }]).slice(0, 2);
    const next = { ...logOf([{ size: 1, stream: 2, told: true }])[0]!, position: 99 };
    const [batch] = await read([...log, next], [1, 1, 1]);
    expect(batch!.events).to.deep.equal([...log, next]);
  });

  it("an incomplete append stays awaited if the end is reported without a new position", async () => {
    const log = logOf([{ size: 2, stream: 1, told: true }]);
    async function* brought(): AsyncGenerator<Batch> {
      yield { events: log.slice(0, 1), position: 1, caughtUp: false };
      yield { events: [], position: 1, caughtUp: true };
      yield { events: log.slice(1), position: 3, caughtUp: true };
    }
    expect(await batchesOf(brought)).to.deep.equal([{ events: log, position: 3, caughtUp: true }]);
  });

  it("an incomplete append that is followed by no event of ours is delivered", async () => {
    const log = logOf([{ size: 4, stream: 1, told: true }]).slice(0, 2);
    const [batch] = await read(log, [2, 0]);
    expect(batch!.events).to.deep.equal(log);
  });
});
