import { randomUUID } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import type pg from "pg";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import type { Request } from "#src/eventStore/postgres/batch.ts";
import { commit } from "#src/eventStore/postgres/commit.ts";
import { createOwnCommits, type Written } from "#src/eventStore/postgres/ownCommits.ts";
import { categoryOf } from "#streams/event.ts";
import { upTo } from "../contract/support.ts";

const request = (stream: string, expectedRevision: number, texts: readonly string[]): Request => ({
  stream,
  expectedRevision,
  events: texts.map((text, n) => ({
    id: randomUUID(),
    type: "T",
    schemaVersion: 1,
    data: JSON.stringify({ n, text }),
    metadata: "{}",
  })),
  bytes: texts.join("").length + 20 * texts.length,
  guards: [],
  deadline: 0,
  alone: false,
  resolve: () => {},
  reject: () => {},
});

/** A commit that the database answers with these rows. */
const committed = (batch: readonly Request[], rows: readonly unknown[][]) =>
  commit({ query: async () => ({ rows }) } as unknown as pg.Client, batch);

/** A commit of one request behind position `after`. */
const writtenAfter = async (
  after: number,
  { stream = "draft-x", events = 1, text = "" }: { stream?: string; events?: number; text?: string } = {},
): Promise<Written> => {
  const rows = [[String(after + events), "-1", null, null]];
  return (await committed([request(stream, -1, Array(events).fill(text))], rows)).written!;
};

describe("What a commit has written", () => {
  it("is the events of those that were granted, over the places of those that were not", async () => {
    const batch = [request("a-1", -1, ["", ""]), request("b-1", 4, ["", "", ""]), request("c-1", 7, [""])];
    const { outcomes, written } = await committed(batch, [
      ["12", "-1", null, null],
      [null, "9", null, null],
      ["16", "7", null, null],
    ]);
    expect(outcomes[1]).to.be.instanceOf(StreamMoved);
    expect(written).to.include({ after: 10, position: 16 });
    expect(written!.events.map(({ stream, revision, position }) => [stream, revision, position])).to.deep.equal([
      ["a-1", 0, 11],
      ["a-1", 1, 12],
      ["c-1", 8, 16],
    ]);
  });

  it("is nothing that an earlier call has written", async () => {
    const batch = [request("a-1", -1, ["", ""]), request("b-1", 4, [""])];
    const repeated = ["12", "1", null, null];
    expect((await committed(batch, [repeated, ["13", "5", null, null]])).written).to.equal(undefined);
    const { written } = await committed(batch, [repeated, ["33", "4", null, null]]);
    expect(written).to.include({ after: 30, position: 33 });
    expect(written!.events.map(({ position }) => position)).to.deep.equal([33]);
  });

  it("is nothing where all were refused, or where the answers contradict each other", async () => {
    const batch = [request("a-1", -1, ["", ""]), request("b-1", 4, [""])];
    const refused = [null, "3", null, null];
    expect((await committed(batch, [refused, refused])).written).to.equal(undefined);
    const rows = [
      ["12", "-1", null, null],
      ["99", "4", null, null],
    ];
    expect((await committed(batch, rows)).written).to.equal(undefined);
  });
});

describe("What this process has committed", () => {
  it("is what a read would bring, or is read: whoever else writes, and whatever is never answered", async () => {
    const step = fc.record({
      by: fc.constantFrom("us", "us", "us", "others", "us, unanswered"),
      stream: fc.constantFrom("draft-x", "thread-x"),
      events: fc.integer({ min: 1, max: 60 }),
      text: fc.constantFrom("", "x".repeat(3_000)),
      behind: fc.nat(4),
      categories: fc.constantFrom<string[] | undefined>(undefined, ["draft"], ["thread", "draft"]),
      limit: fc.constantFrom(3, 500, 500, 500),
    });
    let handedOn = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25, size: "max" }), async (steps) => {
        const own = createOwnCommits();
        const log: { stream: string; position: number; id: string }[] = [];
        const ends = [0];
        for (const { by, behind, categories, limit, ...what } of steps) {
          const written = await writtenAfter(ends.at(-1)!, what);
          log.push(...written.events.map(({ stream, position, event }) => ({ stream, position, id: event.id })));
          ends.push(written.position);
          if (by === "us") own.add(written);
          const after = ends.at(-1 - behind) ?? 0;
          const page = own.page({ after, upTo: written.position, categories, limit });
          if (by !== "us") expect(page, "the newest is not known").to.equal(undefined);
          if (!page) continue;
          handedOn += 1;
          const wanted = log.filter(
            ({ position, stream }) => position > after && (!categories || categories.includes(categoryOf(stream))),
          );
          expect(page.position).to.equal(written.position);
          expect(page.events.length).to.be.at.most(limit);
          expect(page.events.map(({ stream, position, id }) => ({ stream, position, id }))).to.deep.equal(wanted);
        }
      }),
      { numRuns: 40 },
    );
    expect(handedOn).to.be.greaterThan(50);
  });

  it("is let go of, the oldest first, and all of it where the log may be another one", async () => {
    const own = createOwnCommits();
    for (const n of upTo(30)) own.add(await writtenAfter(n * 100, { events: 100 }));
    const page = (after: number) =>
      own.page({ after, upTo: 3_000, categories: undefined, limit: 5_000 })?.events.length;
    expect(page(0)).to.equal(undefined);
    expect(page(2_700)).to.equal(300);
    expect(page(2_950), "in the middle of a commit").to.equal(undefined);
    own.forget();
    expect(page(2_900)).to.equal(undefined);
    own.add(await writtenAfter(3_000, { text: "x".repeat(2_000_000) }));
    expect(own.page({ after: 3_000, upTo: 3_001, categories: undefined, limit: 500 }), "too large").to.equal(undefined);
  });

  it("is nobody else's object", async () => {
    const own = createOwnCommits();
    own.add(await writtenAfter(0));
    const read = () => own.page({ after: 0, upTo: 1, categories: undefined, limit: 500 })!.events[0]!;
    read().data.text = "changed";
    expect(read().data).to.deep.equal({ n: 0, text: "" });
  });
});
