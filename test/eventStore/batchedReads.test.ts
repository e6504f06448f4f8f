import { setImmediate as tick } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { shareReadsOfOneTurn } from "#src/eventStore/batchedReads.ts";
import { errorOf } from "./contract/support.ts";

describe("reads that are joined before they are sent", () => {
  it("a joined read is never older than the request of any caller who joined", async () => {
    const step = fc.record({ asks: fc.array(fc.constantFrom("a", "b"), { maxLength: 4 }), turns: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const joined = shareReadsOfOneTurn();
        let now = 0;
        const send = async (): Promise<number> => {
          const sentAt = ++now;
          for (let turn = sentAt % 4; turn >= 0; turn--) await tick();
          return sentAt;
        };
        const answers: Promise<unknown>[] = [];
        for (const { asks, turns } of steps) {
          for (const question of asks) {
            const askedAt = ++now;
            const answer = joined(question, send).then((sentAt) => expect(sentAt).to.be.greaterThan(askedAt));
            answer.catch(() => {}); // awaited in the end
            answers.push(answer);
          }
          for (let turn = 0; turn < turns; turn++) await tick();
        }
        await Promise.all(answers);
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });

  it("a hundred reads at once are sent once, and a later one again", async () => {
    const joined = shareReadsOfOneTurn();
    let sent = 0;
    const send = async (): Promise<number> => ++sent;
    const answers = await Promise.all(Array.from({ length: 100 }, () => joined("a", send)));
    expect([...new Set(answers)]).to.deep.equal([1]);
    expect(await Promise.all([joined("a", send), joined("b", send)])).to.deep.equal([2, 3]);
  });

  it("a failed joined read fails for those who joined, and for no later caller", async () => {
    const joined = shareReadsOfOneTurn();
    const away = async (): Promise<string> => {
      throw new Error("away");
    };
    const failing = [errorOf(joined("a", away)), errorOf(joined("a", async () => "there"))];
    for (const error of await Promise.all(failing)) expect(String(error)).to.contain("away");
    expect(await joined("a", async () => "there")).to.equal("there");
  });
});
