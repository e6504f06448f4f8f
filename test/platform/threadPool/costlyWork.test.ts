import { expect } from "chai";
import { createCostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import { TaskFault, ThreadsAway, TooMuchWork, WaitedTooLong } from "#src/platform/threadPool/faults.ts";
import type { PoolJob, PoolJobOptions } from "#src/platform/threadPool/threadPool.ts";
import { draftContent } from "#test/support/draftContent.ts";

describe("costly work", () => {
  const versions = (from: string, to: string) => {
    const version = (body_text: string) => ({ content: draftContent({ body_text }), rationale: null });
    return { from: version(from), to: version(to) };
  };
  /** A thread pool that only records its jobs. */
  const noting = (answer: () => Promise<unknown> = async () => "by a thread") => {
    const asked: { job: PoolJob; options: PoolJobOptions }[] = [];
    const run = <T>(job: PoolJob, options: PoolJobOptions) => {
      asked.push({ job, options });
      return answer() as Promise<T>;
    };
    return { asked, work: createCostlyWork({ run }) };
  };

  it("small work is done at once, without a thread", async () => {
    const { asked, work } = noting();
    const { changes } = await work("compareVersions", versions("a", "b"), "w1");
    expect(changes.map(({ field }) => field)).to.deep.equal(["body_text"]);
    expect(asked).to.deep.equal([]);
  });

  it("large work is done by a thread in its workspace's turn, in the slow place if it may take long", async () => {
    const { asked, work } = noting();
    for (const size of [1_000, 10_000]) {
      expect(await work("compareVersions", versions("a", "b".repeat(size)), "w1")).to.equal("by a thread");
    }
    expect(asked.map(({ options: { turn, slow } }) => [turn, slow])).to.deep.equal([
      ["w1", false],
      ["w1", true],
    ]);
  });

  it("long content and a long signature for the console are prepared by a thread", async () => {
    const { asked, work } = noting();
    const letter = (body_html: string) => ({
      content: { body_html, body_text: "", signature_html: null, signature_text: null },
    });
    expect(await work("readableLetter", letter("<p>Hello</p>"), "w1")).to.deep.equal({
      text: "",
      html: { page: "<p>Hello</p>", asText: "Hello" },
    });
    expect(asked).to.deep.equal([]);
    expect(await work("readableLetter", letter("<p>Hello</p>".repeat(1_000)), "w1")).to.equal("by a thread");
  });

  it("costly work is unavailable while there is too much to do, and fails with its task", async () => {
    const large = versions("a", "b".repeat(10_000));
    const overBudget = new TaskFault("took more than 1 ms", { overBudget: true });
    for (const error of [new WaitedTooLong("late"), new ThreadsAway("none"), overBudget]) {
      const { work } = noting(() => Promise.reject(error));
      expect(await work("compareVersions", large, "w1").catch((thrown) => thrown)).to.be.instanceOf(TooMuchWork);
    }
    const fault = new TaskFault("failed: no such thing", { overBudget: false });
    const { work } = noting(() => Promise.reject(fault));
    expect(await work("compareVersions", large, "w1").catch((thrown) => thrown)).to.equal(fault);
  });
});
