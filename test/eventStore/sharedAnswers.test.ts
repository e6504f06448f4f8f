import { setImmediate as tick } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { sharingAnswers } from "#src/eventStore/sharedAnswers.ts";
import { errorOf } from "./contract/support.ts";

describe("Answers that are shared", () => {
  it("are never older than the question, and each question is under way at most once", async () => {
    const step = fc.record({ asks: fc.array(fc.constantFrom("a", "b"), { maxLength: 4 }), turns: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20 }),
        fc.array(fc.nat(5), { minLength: 1 }),
        async (steps, takes) => {
          // However slow the machine: after that wait it would ask beside the one under way, as it should.
          const shared = sharingAnswers({ mostWaitMs: 60_000 });
          const underWay = new Map<string, number>();
          let now = 0;
          let asked = 0;
          const ask = (question: string) => async (): Promise<number> => {
            const begun = ++now;
            underWay.set(question, (underWay.get(question) ?? 0) + 1);
            expect(underWay.get(question)).to.equal(1);
            for (let turn = takes[asked++ % takes.length]!; turn >= 0; turn--) await tick();
            underWay.set(question, 0);
            return begun;
          };
          const answers: Promise<unknown>[] = [];
          for (const { asks, turns } of steps) {
            for (const question of asks) {
              const askedAt = ++now;
              const answer = shared(question, ask(question)).then((begun) => expect(begun).to.be.greaterThan(askedAt));
              answer.catch(() => {}); // it is looked at in the end
              answers.push(answer);
            }
            for (let turn = 0; turn < turns; turn++) await tick();
          }
          await Promise.all(answers);
        },
      ),
      { numRuns: 60, endOnFailure: true },
    );
  });

  it("are asked for twice where a hundred ask at once", async () => {
    const shared = sharingAnswers({ mostWaitMs: 60_000 });
    let asked = 0;
    const ask = async () => {
      await tick();
      return ++asked;
    };
    const answers = await Promise.all(Array.from({ length: 100 }, () => shared("a", ask)));
    expect([...new Set(answers)]).to.deep.equal([1, 2]);
    expect(await shared("a", ask)).to.equal(3);
  });

  it("fail for those who share them, and the next is asked all the same", async () => {
    const shared = sharingAnswers();
    const failing = errorOf(shared("a", () => tick().then(() => Promise.reject(new Error("away")))));
    const next = shared("a", async () => "there");
    expect(String(await failing)).to.contain("away");
    expect(await next).to.equal("there");
  });

  it("do not wait for one that hangs", async () => {
    const shared = sharingAnswers();
    void shared("a", () => new Promise(() => {}));
    expect(await shared("a", async () => "there")).to.equal("there");
    expect(await shared("a", async () => "again")).to.equal("again");
  });
});
