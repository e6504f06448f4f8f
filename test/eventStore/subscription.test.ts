import { setImmediate as tick } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { type Batch, LogRewound, Unavailable } from "#src/eventStore/eventStore.ts";
import { silentLog } from "#src/eventStore/recovery.ts";
import { sharePageReads } from "#src/eventStore/sharedPageReads.ts";
import { subscribe } from "#src/eventStore/subscription.ts";
import { createWaiters } from "#src/eventStore/waiters.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { inFull } from "#test/support/full.ts";
import { errorOf } from "./contract/support.ts";

const categories = ["draft", "thread", "inbox"];
const pageSize = 100;

/** A growing log with gaps between positions, which counts the pages that are read. */
function growingLog() {
  const events: Recorded[] = [];
  const waiters = createWaiters();
  const closing = new AbortController();
  const log = {
    events,
    head: 0,
    pagesRead: 0,
    /** Error with which the next reads fail. */
    failure: undefined as Error | undefined,
    grow(count: number): void {
      for (let n = 0; n < count; n++) {
        log.head += 1 + (log.head % 3 === 0 ? 1 : 0);
        events.push({ position: log.head, stream: `${categories[log.head % 3]}-x` } as unknown as Recorded);
      }
      waiters.wake(log.head);
    },
    after: (position: number, wanted?: readonly string[]) =>
      events.filter((event) => event.position > position && (!wanted || wanted.includes(categoryOf(event.stream)))),
    close: () => closing.abort(),
  };

  async function read(after: number): Promise<Batch> {
    log.pagesRead += 1;
    await tick();
    if (log.failure) throw log.failure;
    const page = log.after(after).slice(0, pageSize);
    const position = page.at(-1)?.position ?? after;
    await tick();
    return { events: page, position, caughtUp: page.length < pageSize };
  }

  const paged = {
    page: sharePageReads(read).page,
    beyond: async (after: number, signal: AbortSignal) => {
      if (after > log.head) throw new LogRewound("beyond the end");
      if (after === log.head) await waiters.wait(after, signal);
    },
    log: silentLog,
    closing: closing.signal,
  };
  return { ...log, log, paged };
}

type Log = ReturnType<typeof growingLog>;

/** Follows the log like a consumer that needs `turns` turns of the event loop for each batch. */
function follow(
  { paged }: Log,
  {
    after,
    wanted,
    batchSize,
    turns,
  }: { after: number; wanted?: string[] | undefined; batchSize?: number; turns: number },
) {
  const abort = new AbortController();
  const reader = { got: [] as Recorded[], position: after, caughtUp: false, stop: () => abort.abort() };
  const options = {
    after,
    signal: abort.signal,
    ...(wanted && { categories: wanted }),
    ...(batchSize && { batchSize }),
  };
  async function read(): Promise<void> {
    for await (const batch of subscribe(paged, options)) {
      expect(batch.position).to.be.at.least(batch.events.at(-1)?.position ?? reader.position);
      expect(batch.position, "a position that went back").to.be.at.least(reader.position);
      expect(batch.events.length).to.be.at.most(batchSize ?? 500);
      reader.got.push(...batch.events);
      reader.position = batch.position;
      reader.caughtUp = batch.caughtUp;
      for (let turn = 0; turn < turns; turn++) await tick();
    }
  }
  const ended = read();
  ended.catch(() => {});
  return Object.assign(reader, { ended });
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 100_000) throw new Error(`never: ${what}`);
    await tick();
  }
}
const atEnd = ({ log }: Log, readers: readonly { position: number }[]) =>
  until("every reader is at the end", () => readers.every(({ position }) => position === log.head));

describe("subscriptions that page the log", () => {
  it("subscriptions at the same position read the log once", async () => {
    const world = growingLog();
    const readers = Array.from({ length: 20 }, (_, n) =>
      follow(world, { after: 0, wanted: [categories[n % 3]!], turns: 0 }),
    );
    for (let commit = 0; commit < 50; commit++) {
      world.log.grow(2);
      await atEnd(world, readers);
    }
    expect(world.log.pagesRead).to.equal(50);
    for (const [n, { got, stop }] of readers.entries()) {
      expect(got).to.deep.equal(world.log.after(0, [categories[n % 3]!]));
      stop();
    }
  });

  it("subscriptions at one pace read a long log once", async () => {
    const world = growingLog();
    world.log.grow(50 * pageSize);
    const readers = Array.from({ length: 25 }, () => follow(world, { after: 0, turns: 3 }));
    await atEnd(world, readers);
    expect(world.log.pagesRead).to.be.lessThan(60);
    for (const { got, stop } of readers) {
      expect(got).to.deep.equal(world.log.events);
      stop();
    }
  });

  it("a subscription delivers each event once, in order, however fast its reader is and wherever it begins", async () => {
    const reader = fc.record({
      behind: fc.nat(700),
      wanted: fc.option(fc.subarray(categories, { minLength: 1 }), { nil: undefined }),
      batchSize: fc.constantFrom(7, 40, 500),
      turns: fc.constantFrom(0, 1, 5, 40),
    });
    const step = fc.record({
      grow: fc.nat(350),
      turns: fc.nat(20),
      readers: fc.array(reader, { maxLength: 3 }),
      stops: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const world = growingLog();
        const readers: { start: number; wanted: string[] | undefined; followed: ReturnType<typeof follow> }[] = [];
        for (const { grow, turns, readers: more, stops } of steps) {
          world.log.grow(grow);
          for (const { behind, wanted, ...pace } of more) {
            const start = world.log.events.at(-1 - behind)?.position ?? 0;
            readers.push({ start, wanted, followed: follow(world, { after: start, wanted, ...pace }) });
          }
          for (let turn = 0; turn < turns; turn++) await tick();
          if (stops) readers.shift()?.followed.stop();
        }
        await atEnd(
          world,
          readers.map(({ followed }) => followed),
        );
        // A full page that ends at the log's end is followed by an empty page, which says so.
        await until("every reader knows that it is at the end", () =>
          readers.every(({ start, followed }) => followed.caughtUp || start === world.log.head),
        );
        for (const { start, wanted, followed } of readers) {
          expect(followed.got).to.deep.equal(world.log.after(start, wanted));
          followed.stop();
          await followed.ended;
        }
      }),
      { numRuns: inFull ? 200 : 50, endOnFailure: true },
    );
  });

  it("a reader that stands still delays no other subscription, and few pages are kept for it", async () => {
    const world = growingLog();
    world.log.grow(10);
    const still = subscribe(world.paged, { after: 0, signal: new AbortController().signal });
    const first = await still.next();
    const fast = follow(world, { after: 0, turns: 0 });
    for (let n = 0; n < 30; n++) {
      world.log.grow(250);
      await atEnd(world, [fast]);
    }
    const before = world.log.pagesRead;
    const got = [...(first.value as Batch).events];
    while (got.length < world.log.events.length) got.push(...((await still.next()).value as Batch).events);
    expect(got).to.deep.equal(world.log.events);
    expect(world.log.pagesRead - before, "pages that it read again").to.be.at.least(70);
    fast.stop();
  });

  it("subscriptions wait for a log that is away, and fail with any other error of its reading", async () => {
    const world = growingLog();
    world.log.grow(5);
    world.log.failure = new Unavailable("away");
    const [one, other] = [follow(world, { after: 0, turns: 0 }), follow(world, { after: 0, turns: 3 })];
    await until("both have tried", () => world.log.pagesRead > 1);
    world.log.failure = undefined;
    await atEnd(world, [one, other]);
    world.log.failure = new Error("cannot be read");
    world.log.grow(5);
    for (const { ended } of [one, other]) expect(String(await errorOf(ended))).to.contain("cannot be read");
    world.log.failure = undefined;
    const again = follow(world, { after: one.position, turns: 0 });
    await atEnd(world, [again]);
    expect(again.got).to.have.length(5);
    again.stop();
  });

  it("a subscription beyond the log's end fails, and subscriptions end when the store is closed", async () => {
    const world = growingLog();
    world.log.grow(5);
    const reader = follow(world, { after: 0, turns: 0 });
    expect(await errorOf(follow(world, { after: world.log.head + 5, turns: 0 }).ended)).to.be.instanceOf(LogRewound);
    await atEnd(world, [reader]);
    world.log.close();
    await reader.ended;
    expect(reader.got).to.have.length(5);
  });
});
