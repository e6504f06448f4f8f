import { expect } from "chai";
import { createFairQueue } from "#src/platform/threadPool/fairQueue.ts";
import { TaskFault, WaitedTooLong } from "#src/platform/threadPool/faults.ts";
import { createSlowBudget } from "#src/platform/threadPool/slowBudget.ts";
import { createThreadPool, type PoolJobOptions, type ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import { obedientThread, order, untidyThread } from "#test/mail/in/parser.ts";

describe("turns", () => {
  const served = (turns: ReturnType<typeof createFairQueue<string>>, cost: number) => {
    const all: string[] = [];
    for (let item = turns.next(); item !== undefined; item = turns.next()) {
      all.push(item);
      turns.charge(item[0] as string, cost);
    }
    return all.join(" ");
  };

  it("turns go round, however much of one waits, and each one's items stay in order", () => {
    const turns = createFairQueue<string>();
    for (const item of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) turns.add(item[0] as string, item);
    expect(served(turns, 1)).to.equal("a1 b1 c1 a2 b2 a3 a4");
  });

  it("the one that has used most has its turn last, and absence saves no turns up", () => {
    const turns = createFairQueue<string>();
    turns.add("a", "a1");
    turns.next();
    turns.charge("a", 10);
    for (const item of ["a2", "b1", "b2", "b3"]) turns.add(item[0] as string, item);
    expect(served(turns, 4)).to.equal("b1 b2 b3 a2");
    for (const item of ["b4", "b5", "c1", "c2"]) turns.add(item[0] as string, item);
    expect(served(turns, 4).split(" ").slice(0, 3)).to.include.members(["c1"]);
  });
});

describe("the pool of threads", () => {
  const pools: ThreadPool[] = [];
  const start = (limits: Parameters<typeof createThreadPool>[0] = {}) => {
    const pool = createThreadPool({ entry: obedientThread, ...limits });
    pools.push(pool);
    return pool;
  };
  after(() => Promise.all(pools.map((pool) => pool.close())));

  const limits = { maxHtmlBytes: 1, maxTextBytes: 1, maxAttachments: 1 };
  const run = (pool: ThreadPool, bytes: Buffer, options: PoolJobOptions): Promise<unknown> =>
    pool.run({ name: "parse", bytes, limits }, options);
  /** Returns the answers of the jobs, in the order in which they end. */
  const ends = async (jobs: Promise<unknown>[]): Promise<unknown[]> => {
    const ended: unknown[] = [];
    await Promise.all(jobs.map((job) => job.then((answer) => ended.push(answer))));
    return ended;
  };

  it("threads have freed what a mail left behind when they answer: then they sleep", async () => {
    const pool = start({ threads: 1, entry: untidyThread, firstTryMs: 60_000 });
    expect(await run(pool, Buffer.from("Subject: hello\r\n\r\nhello"), { turn: "one" })).to.be.below(64 * 1024 * 1024);
  });

  it("a thread serves another workspace's mail after a few of one that sends many", async () => {
    const pool = start({ threads: 1 });
    const flood = Array.from({ length: 30 }, (_, n) => run(pool, order({ answer: n }), { turn: "flooded" }));
    const other = run(pool, order({ answer: "other" }), { turn: "other" });
    const ended = await ends([...flood, other]);
    expect(ended.indexOf("other")).to.be.below(3);
    expect(ended.filter((answer) => answer !== "other")).to.deep.equal(flood.map((_, n) => n));
  });

  it("slow mail has one place, where it is given up, while the other thread reads on", async () => {
    const pool = start({ firstTryMs: 100, slowMs: 2_000 });
    const endless = Array.from({ length: 3 }, () =>
      run(pool, order({ sleepMs: 60_000 }), { turn: "flooded" }).catch((error) => error),
    );
    const quick = Array.from({ length: 10 }, (_, n) => run(pool, order({ answer: n }), { turn: `other${n}` }));
    const ended = await ends([...endless, ...quick]);
    // The first slow job ends third from last: no quick job waited for its 2 s.
    expect(ended.slice(0, 10)).to.have.members([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const fault of ended.slice(10)) {
      expect(fault).to.be.instanceOf(TaskFault);
      expect((fault as Error).message).to.equal("took more than 2000 ms");
    }
    const counts = pool.counts();
    expect(counts).to.include({ slowAtOnce: 1, givenUp: 3 });
    // The second job was moved from its first try to the slow lane; the third waited behind it without a first try, so no thread was ended
    // for it.
    expect(counts.setBack).to.equal(1);
  });

  it("slow mail continues if no other is slow, and large mails are read one at a time", async () => {
    const pool = start({ firstTryMs: 50, slowMs: 30_000, largeBytes: 1_000 });
    expect(await run(pool, order({ sleepMs: 300, answer: "slow" }), { turn: "a" })).to.equal("slow");
    const large = Array.from({ length: 4 }, (_, n) => run(pool, order({ answer: n }, 2_000), { turn: `${n}` }));
    await Promise.all(large);
    expect(pool.counts()).to.deep.equal({ begun: 5, setBack: 0, givenUp: 0, slowAtOnce: 1 });
  });

  it("a job whose turn does not arrive in its waiting time is not begun", async () => {
    const pool = start({ threads: 1, firstTryMs: 5_000 });
    const first = run(pool, order({ sleepMs: 1_500, answer: "first" }), { turn: "a" });
    const impatient = run(pool, order({ answer: "never" }), { turn: "b", waitMs: 20 }).catch((error) => error);
    const patient = run(pool, order({ answer: "third" }), { turn: "b", waitMs: 60_000 });
    expect(await impatient).to.be.instanceOf(WaitedTooLong);
    expect(await Promise.all([first, patient])).to.deep.equal(["first", "third"]);
    expect(pool.counts().begun).to.equal(2);
  });

  it("an identity's slow mail is limited per minute, and its quick and others' slow mail is read", async () => {
    const pool = start({ firstTryMs: 100, slowMs: 600, slowPerMinuteMs: 300, largeBytes: 100_000 });
    const slow = (turn: string, sleepMs = 60_000) =>
      run(pool, order({ sleepMs, answer: "read" }), { turn }).catch((error: Error) => error.message);
    const flood = Array.from({ length: 6 }, () => slow("flooded"));
    const quick = run(pool, order({ answer: "quick" }), { turn: "flooded" });
    // It depends on which thread starts first which of the first two jobs is awaited.
    expect(await Promise.all(flood)).to.have.members([
      "took more than 600 ms",
      ...Array(5).fill("took more than 100 ms"),
    ]);
    expect(await quick).to.equal("quick");
    expect(pool.counts().givenUp).to.equal(6);
    expect(await slow("other", 250)).to.equal("read");
    const large = await run(pool, order({ sleepMs: 60_000 }, 250_000), { turn: "flooded" }).catch(String);
    expect(large).to.include("took more than 300 ms");
  });
});

describe("the time of slow mail", () => {
  it("the time for slow mail is counted for each identity, and is available again after a minute", () => {
    let now = 0;
    const time = createSlowBudget(20, () => now);
    time.charge("a", 15);
    expect(time.isSpent("a")).to.equal(false);
    now = 59_999;
    time.charge("a", 5);
    expect([time.isSpent("a"), time.isSpent("b")]).to.deep.equal([true, false]);
    now = 60_000;
    expect(time.isSpent("a")).to.equal(false);
    time.charge("a", 5);
    expect(time.isSpent("a")).to.equal(false);
  });
});
