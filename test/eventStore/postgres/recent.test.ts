import { expect } from "chai";
import fc from "fast-check";
import type { Page, PageRequest } from "#src/eventStore/postgres/reader.ts";
import { createRecent } from "#src/eventStore/postgres/recent.ts";
import type { Recorded } from "#streams/event.ts";

const categories = ["draft", "thread", "inbox"];

/** A log that grows, read as the database reads it; `reads` counts how often. */
function createLog(eventBytes: number) {
  const events: Recorded[] = [];
  const log = {
    reads: 0,
    head: 0,
    failing: 0,
    grow(count: number) {
      for (let n = 0; n < count; n++) {
        log.head += 1 + (log.head % 3 === 0 ? 1 : 0);
        events.push({ position: log.head, stream: `${categories[log.head % 3]}-x`, type: "T" } as Recorded);
      }
    },
    direct({ after, upTo, categories: wanted, limit }: PageRequest): Page {
      const all = events.filter(
        ({ position, stream }) =>
          position > after && position <= upTo && (!wanted || wanted.includes(stream.split("-")[0]!)),
      );
      const page = all.slice(0, limit);
      const position = all.length >= limit ? page.at(-1)!.position : upTo;
      return { events: page, position, bytes: page.length * eventBytes };
    },
    async page(request: PageRequest): Promise<Page> {
      log.reads += 1;
      await new Promise(setImmediate);
      if (log.failing > 0 && log.failing-- > 0) throw new Error("away");
      return log.direct(request);
    },
  };
  return log;
}

/** Follows the log to its end, growing as it goes, and gives what it got. */
async function follow(
  page: (request: PageRequest) => Promise<Page>,
  log: ReturnType<typeof createLog>,
  { start, wanted, limit }: { start: number; wanted?: string[]; limit: number },
): Promise<number[]> {
  const got: number[] = [];
  for (let after = start; after < log.head; ) {
    const request = { after, upTo: log.head, categories: wanted, limit };
    const { events, position } = await page(request).catch(() => ({ events: [], position: after }));
    got.push(...events.map((event) => event.position));
    after = position;
  }
  return got;
}

describe("The newest stretch of the log", function () {
  this.timeout(30_000);

  it("is read once for all who follow it", async () => {
    const log = createLog(100);
    const { page } = createRecent(log);
    const followers = Array.from({ length: 20 }, (_, n) => ({ after: 0, wanted: [categories[n % 3]!], got: 0 }));
    for (let commit = 0; commit < 50; commit++) {
      log.grow(2);
      await Promise.all(
        followers.map(async (follower) => {
          const request = { after: follower.after, upTo: log.head, categories: follower.wanted, limit: 500 };
          const { events, position } = await page(request);
          follower.got += events.length;
          follower.after = position;
        }),
      );
    }
    expect(log.reads).to.equal(50);
    for (const { wanted, got } of followers) {
      const all = log.direct({ after: 0, upTo: log.head, categories: wanted, limit: 1_000 });
      expect(got).to.equal(all.events.length);
    }
  });

  it("gives every follower what it would have read itself, wherever it is and whatever fails", async () => {
    const follower = fc.record({
      behind: fc.nat(3_000),
      wanted: fc.option(fc.subarray(categories, { minLength: 1 }), { nil: undefined }),
      limit: fc.constantFrom(40, 500),
    });
    const step = fc.record({ grow: fc.nat(700), failing: fc.nat(2), followers: fc.array(follower, { maxLength: 5 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.constantFrom(10, 20_000), async (steps, eventBytes) => {
        const log = createLog(eventBytes);
        const { page } = createRecent(log);
        for (const { grow, failing, followers } of steps) {
          log.grow(grow);
          log.failing = failing;
          await Promise.all(
            followers.map(async ({ behind, ...rest }) => {
              const start = Math.max(0, log.head - behind);
              const expected = log.direct({ after: start, upTo: log.head, categories: rest.wanted, limit: 1e6 });
              const got = await follow(page, log, { start, ...rest });
              expect(got).to.deep.equal(expected.events.map(({ position }) => position));
            }),
          );
        }
      }),
      { numRuns: 40 },
    );
  });
});
