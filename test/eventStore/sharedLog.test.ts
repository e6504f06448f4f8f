import { setImmediate as tick } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import {
  type Batch,
  type EventStore,
  LogRewound,
  type SubscribeOptions,
  Unavailable,
} from "#src/eventStore/eventStore.ts";
import { createEventStoreDbStore } from "#src/eventStore/eventStoreDb/store.ts";
import { sharingLog } from "#src/eventStore/sharedLog.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { inFull } from "#test/support/full.ts";
import { subscribeContract } from "./contract/subscribe.ts";
import { appendOneByOne, errorOf, newStream } from "./contract/support.ts";

const categories = ["draft", "thread", "inbox"];

/** A log that grows, with holes between positions, and counts its subscriptions. */
class GrowingLog {
  readonly events: Recorded[] = [];
  head = 0;
  opened = 0;
  open = 0;
  delivered = 0;
  readonly #revisions = new Map<string, number>();
  #failure: unknown;
  #away = 0;
  #closed = false;
  #wakes = new Set<() => void>();

  grow(count: number, text = ""): void {
    for (let n = 0; n < count; n++) {
      this.head += 1 + (this.head % 3 === 0 ? 1 : 0);
      const stream = `${categories[this.head % 3]}-x`;
      const revision = (this.#revisions.get(stream) ?? -1) + 1;
      this.#revisions.set(stream, revision);
      const event = { position: this.head, stream, revision, type: "T", data: { text }, metadata: {} };
      this.events.push(event as unknown as Recorded);
    }
    this.wake();
  }

  /** All subscriptions there are end with this. */
  fail(error: unknown): void {
    this.#failure = error;
    this.wake();
    this.#failure = undefined;
  }

  /** So many questions for the head go unanswered. */
  goAway(times: number): void {
    this.#away = times;
  }

  close(): void {
    this.#closed = true;
    this.wake();
  }

  wake(): void {
    for (const wake of this.#wakes) wake();
  }

  after(position: number, wanted?: readonly string[]): Recorded[] {
    return this.events.filter(
      (event) => event.position > position && (!wanted || wanted.includes(categoryOf(event.stream))),
    );
  }

  readonly store = {
    head: async () => {
      await tick();
      if (this.#away > 0 && this.#away-- > 0) throw new Unavailable("away");
      return this.head;
    },
    subscribe: (options: SubscribeOptions) => this.#subscribe(options),
  } as unknown as EventStore;

  async *#subscribe({ after, categories: wanted, batchSize = 500, signal }: SubscribeOptions): AsyncGenerator<Batch> {
    this.opened += 1;
    this.open += 1;
    let failure: unknown;
    let wake = (): void => {};
    const changed = (): void => {
      failure ??= this.#failure;
      wake();
    };
    this.#wakes.add(changed);
    signal.addEventListener("abort", changed);
    try {
      for (let position = after; ; ) {
        await tick();
        if (position > this.head) throw new LogRewound(`${position} is beyond the end`);
        if (failure) throw failure;
        if (signal.aborted || this.#closed) return;
        if (position === this.head) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        const all = this.after(position, wanted);
        const events = all.slice(0, batchSize);
        position = all.length > batchSize ? events.at(-1)!.position : this.head;
        this.delivered += events.length;
        yield { events, position, caughtUp: position === this.head };
      }
    } finally {
      this.open -= 1;
      this.#wakes.delete(changed);
      signal.removeEventListener("abort", changed);
    }
  }
}

type Followed = { got: number[]; position: number; caughtUp: boolean; ended: Promise<void>; stop(): void };

/** Reads on for ever as a consumer does that takes so many turns of the event loop for each batch. */
function follow(
  store: EventStore,
  { after, wanted, batchSize, turns }: { after: number; wanted?: string[]; batchSize?: number; turns: number },
): Followed {
  const abort = new AbortController();
  const reader: Followed = {
    got: [],
    position: after,
    caughtUp: false,
    ended: Promise.resolve(),
    stop: () => abort.abort(),
  };
  reader.ended = (async () => {
    const options = {
      after,
      signal: abort.signal,
      ...(wanted && { categories: wanted }),
      ...(batchSize && { batchSize }),
    };
    for await (const batch of store.subscribe(options)) {
      const positions = batch.events.map(({ position }) => position);
      expect(batch.position, "a position that went back").to.be.at.least(positions.at(-1) ?? reader.position);
      expect(batch.position).to.be.at.least(reader.position);
      expect(batch.events.length).to.be.at.most(batchSize ?? 500);
      reader.got.push(...positions);
      reader.position = batch.position;
      reader.caughtUp = batch.caughtUp;
      for (let turn = 0; turn < turns; turn++) await tick();
    }
  })();
  reader.ended.catch(() => {});
  return reader;
}

const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 100_000) throw new Error(`never: ${what}`);
    await tick();
  }
};
const opened = (log: GrowingLog) => until("the log is followed", () => log.open === 1);
const atEnd = (log: GrowingLog, readers: readonly Followed[]) =>
  until("everybody at the end", () => readers.every(({ position }) => position === log.head));

describe("The shared log", () => {
  it("is read once for all who follow it", async () => {
    const log = new GrowingLog();
    log.grow(10);
    const store = sharingLog(log.store);
    const readers = Array.from({ length: 20 }, (_, n) =>
      follow(store, { after: log.head, wanted: [categories[n % 3]!], turns: n % 4 }),
    );
    const before = log.head;
    await opened(log);
    for (let commit = 0; commit < 50; commit++) {
      log.grow(2);
      await atEnd(log, readers);
    }
    expect(log.opened).to.equal(1);
    expect(log.delivered).to.equal(100);
    for (const [n, { got }] of readers.entries())
      expect(got).to.deep.equal(log.after(before, [categories[n % 3]!]).map(({ position }) => position));
    for (const reader of readers) reader.stop();
    await until("nobody reads any more", () => log.open === 0);
  });

  it("gives every reader each event once, in order, however fast it is and wherever it begins", async () => {
    const reader = fc.record({
      behind: fc.nat(2_500),
      wanted: fc.option(fc.subarray(categories, { minLength: 1 }), { nil: undefined }),
      batchSize: fc.constantFrom(7, 100, undefined),
      turns: fc.constantFrom(0, 1, 5, 40),
    });
    const step = fc.record({
      grow: fc.nat(900),
      turns: fc.nat(20),
      readers: fc.array(reader, { maxLength: 3 }),
      stops: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 6 }),
        fc.constantFrom("", "x".repeat(20_000)),
        async (steps, text) => {
          const log = new GrowingLog();
          const store = sharingLog(log.store);
          const readers: { start: number; wanted?: string[]; followed: Followed }[] = [];
          for (const { grow, turns, readers: more, stops } of steps) {
            log.grow(grow, text);
            for (const { behind, wanted, ...pace } of more) {
              const start = log.events.at(-1 - behind)?.position ?? 0;
              readers.push({ start, wanted, followed: follow(store, { after: start, wanted, ...pace }) });
            }
            for (let turn = 0; turn < turns; turn++) await tick();
            if (stops) readers.shift()?.followed.stop();
          }
          await atEnd(
            log,
            readers.map(({ followed }) => followed),
          );
          for (const { start, wanted, followed } of readers) {
            expect(followed.got).to.deep.equal(log.after(start, wanted).map(({ position }) => position));
            followed.stop();
            await followed.ended;
          }
          await until("nobody reads any more", () => log.open === 0);
        },
      ),
      { numRuns: inFull ? 200 : 25, endOnFailure: true },
    );
  });

  it("lets nobody wait for a reader that stands still, which reads alone afterwards", async () => {
    const log = new GrowingLog();
    const store = sharingLog(log.store);
    const abort = new AbortController();
    const still = store.subscribe({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
    const fast = follow(store, { after: 0, turns: 0 });
    const asked = still.next();
    await opened(log);
    log.grow(1);
    const first = await asked;
    for (let n = 0; n < 30; n++) {
      log.grow(100);
      await atEnd(log, [fast]);
    }
    expect(log.opened).to.equal(1);
    const got = [...first.value.events];
    while (got.length < log.events.length) got.push(...(await still.next()).value.events);
    expect(got).to.deep.equal(log.events);
    expect(log.opened, "it read alone for a while").to.equal(2);
    log.grow(1);
    expect((await still.next()).value.events).to.deep.equal(log.events.slice(-1));
    expect(log.open, "and is one of the others again").to.equal(1);
    fast.stop();
    abort.abort();
  });

  it("keeps no more than its bound while all stand still", async () => {
    const log = new GrowingLog();
    const store = sharingLog(log.store);
    const abort = new AbortController();
    const still = store.subscribe({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
    const asked = still.next();
    await opened(log);
    log.grow(1);
    await asked;
    for (let n = 0; n < 50; n++) {
      log.grow(100);
      for (let turn = 0; turn < 10; turn++) await tick();
    }
    expect(log.delivered).to.be.at.most(1_500);
    abort.abort();
  });

  it("fails for all who follow it with what its subscription fails with, and begins anew for those who try again", async () => {
    const log = new GrowingLog();
    const store = sharingLog(log.store);
    const readers = [follow(store, { after: 0, turns: 0 }), follow(store, { after: 0, turns: 3 })];
    await opened(log);
    log.grow(5);
    await atEnd(log, readers);
    log.fail(new Error("cannot be read"));
    for (const { ended } of readers) expect(String(await errorOf(ended))).to.contain("cannot be read");
    const again = readers.map(({ position }) => follow(store, { after: position, turns: 0 }));
    await opened(log);
    log.grow(5);
    await atEnd(log, again);
    expect([log.opened, log.open]).to.deep.equal([2, 1]);
    for (const { got, stop } of again) {
      expect(got).to.have.length(5);
      stop();
    }
  });

  it("is loud where a reader is beyond the end of the log", async () => {
    const log = new GrowingLog();
    log.grow(5);
    const store = sharingLog(log.store);
    const other = follow(store, { after: log.head, turns: 0 });
    expect(await errorOf(follow(store, { after: log.head + 5, turns: 0 }).ended)).to.be.instanceOf(LogRewound);
    log.grow(1);
    await atEnd(log, [other]);
    other.stop();
  });

  it("knows events that were asked for by number where it keeps all of them, and asks the store else", async () => {
    const log = new GrowingLog();
    let reads = 0;
    const read = async (): Promise<Recorded[]> => {
      reads += 1;
      return [];
    };
    const store = sharingLog({ ...log.store, read });
    const reader = follow(store, { after: 0, turns: 0 });
    await opened(log);
    log.grow(1_100);
    await atEnd(log, [reader]);
    const positions = async (from: number, count?: number) =>
      (await store.read("draft-x", from, count)).map(({ position }) => position);
    const drafts = log.after(0, ["draft"]).map(({ position }) => position);
    const last = drafts.length - 1;
    expect(await positions(last - 1, 2)).to.deep.equal(drafts.slice(-2));
    expect(reads).to.equal(0);
    expect(await positions(last, 2), "beyond what it knows").to.deep.equal([]);
    expect(await positions(last), "to the end").to.deep.equal([]);
    expect(await positions(0, 1), "let go").to.deep.equal([]);
    expect(reads).to.equal(3);
    log.fail(new Error("cannot be read"));
    await errorOf(reader.ended);
    expect(await positions(last, 1), "of a log that may be another now").to.deep.equal([]);
    expect(reads).to.equal(4);
  });

  it("waits for a store that is away, and ends with one that is closed", async () => {
    const log = new GrowingLog();
    log.goAway(1);
    const store = sharingLog(log.store);
    const reader = follow(store, { after: 0, turns: 0 });
    const aborted = follow(store, { after: 0, turns: 0 });
    aborted.stop();
    await aborted.ended;
    await new Promise((resolve) => setTimeout(resolve, 150));
    log.grow(3);
    await atEnd(log, [reader]);
    log.close();
    await reader.ended;
    expect(reader.got).to.have.length(3);
  });

  describe("over an EventStoreDB", () => {
    let server: EventStoreDbStandIn;
    let store: EventStore;
    before(async () => {
      server = await new EventStoreDbStandIn().start();
      store = sharingLog(createEventStoreDbStore({ connectionString: server.url }));
    });
    after(async () => {
      await store.close();
      server.stop();
    });

    it("leaves it to the store to judge a position that somebody stored", async () => {
      const abort = new AbortController();
      const other = store.subscribe({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
      await other.next();
      const [one] = await appendOneByOne(store, [newStream(), newStream()]);
      while ((await other.next()).value.position <= one!.position);
      const reading = store.subscribe({ after: one!.position + 1, signal: abort.signal })[Symbol.asyncIterator]();
      expect(await errorOf(reading.next())).to.be.instanceOf(LogRewound);
      abort.abort();
    });

    subscribeContract(() => ({ store, dispose: async () => {} }));
  });
});
