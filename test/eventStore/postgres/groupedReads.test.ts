import { setImmediate as tick } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { groupingReads, type Wanted } from "#src/eventStore/postgres/groupedReads.ts";
import { errorOf } from "../contract/support.ts";

/** Streams as rows of numbers that grow while they are read. */
function growing() {
  const lengths = new Map<string, number>();
  const round = { trips: 0 };
  const rowsOf = ({ stream, from, count = Number.POSITIVE_INFINITY }: Wanted, most = Number.POSITIVE_INFINITY) =>
    Array.from({ length: lengths.get(stream) ?? 0 }, (_, n) => n)
      .slice(from)
      .slice(0, Math.min(count, most));
  const read = groupingReads<number>({
    async alone(wanted) {
      round.trips += 1;
      await tick();
      return rowsOf(wanted);
    },
    async together(wanted, each) {
      round.trips += 1;
      await tick();
      return wanted.map((one) => rowsOf(one, each));
    },
  });
  return { lengths, round, read };
}

describe("Reads that go to the server together", () => {
  const wanted = fc.record({
    stream: fc.constantFrom("a", "b", "c"),
    from: fc.nat(15),
    count: fc.constantFrom(1, 10, 500, undefined),
  });

  it("bring what each asked for, as it was when it was asked or later, however long it is", async () => {
    const step = fc.record({
      asks: fc.array(wanted, { maxLength: 25 }),
      grow: fc.constantFrom("a", "b", "c"),
      by: fc.nat(12),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { lengths, read } = growing();
        const answers: Promise<unknown>[] = [];
        for (const { asks, grow, by } of steps) {
          for (const one of asks) {
            const before = lengths.get(one.stream) ?? 0;
            const most = one.count ?? Number.POSITIVE_INFINITY;
            answers.push(
              read(one).then((rows) => {
                expect(rows.every((row, n) => row === one.from + n)).to.equal(true);
                expect(rows.length)
                  .to.be.at.least(Math.min(Math.max(0, before - one.from), most))
                  .and.at.most(most);
              }),
            );
          }
          lengths.set(grow, (lengths.get(grow) ?? 0) + by);
          await tick();
        }
        await Promise.all(answers);
      }),
      { numRuns: 100 },
    );
  });

  it("take a round trip for sixteen streams", async () => {
    const { lengths, read, round } = growing();
    for (let n = 0; n < 64; n++) lengths.set(`s${n}`, 3);
    const all = await Promise.all(Array.from({ length: 64 }, (_, n) => read({ stream: `s${n}`, from: 1, count: 500 })));
    expect(all.every((rows) => rows.length === 2)).to.equal(true);
    expect(round.trips).to.equal(4);
  });

  it("gather while a group is under way, and wait for none that hangs", async () => {
    const trips: number[] = [];
    let letGo = (): void => {};
    const hanging = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const together = async (group: readonly Wanted[]): Promise<number[][]> => {
      trips.push(group.length);
      if (trips.length === 1) await hanging;
      return group.map(() => [1]);
    };
    const read = groupingReads({ alone: async (one) => (await together([one]))[0]!, together });
    const first = read({ stream: "a", from: 0, count: 500 });
    while (trips.length === 0) await tick();
    const later: Promise<number[]>[] = [];
    for (const from of [0, 1, 2]) {
      later.push(read({ stream: "b", from, count: 500 }));
      await Promise.resolve();
    }
    await Promise.all(later);
    expect(trips).to.deep.equal([1, 3]);
    letGo();
    expect(await first).to.deep.equal([1]);
  });

  it("fail together, and those that come later do not", async () => {
    let fails = true;
    const answer = async (): Promise<number[]> => {
      if (fails) throw new Error("the server is away");
      return [1];
    };
    const read = groupingReads({ alone: answer, together: (group) => Promise.all(group.map(answer)) });
    const errors = await Promise.all([0, 1, 2].map((from) => errorOf(read({ stream: "a", from, count: 500 }))));
    expect(errors.map((error) => (error as Error).message)).to.deep.equal(Array(3).fill("the server is away"));
    fails = false;
    expect(await read({ stream: "a", from: 0, count: 500 })).to.deep.equal([1]);
  });
});
