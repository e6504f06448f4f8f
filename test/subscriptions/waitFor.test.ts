import { expect } from "chai";
import type { Sql } from "#src/postgres/database.ts";
import { createWaitFor, type WaitFor } from "#src/subscriptions/waitFor.ts";
import { accounts, counts } from "./support.ts";

describe("waiting for a position beside the runner that writes it", () => {
  /** Longer than any test: whoever looks before it was not told to wait. */
  const patienceMs = 60_000;
  let looks: number;
  let stored: number;
  let waitFor: WaitFor;

  const database: Sql = {
    async query() {
      looks += 1;
      const rows = [accounts, counts].map(({ name, version }) => ({ name, version, position: stored }));
      return { rows: rows as never[], rowCount: rows.length };
    },
  };
  const at = (position: number, of = [accounts, counts]) => new Map(of.map(({ name }) => [name, position]));

  beforeEach(() => {
    looks = 0;
    stored = 0;
    waitFor = createWaitFor({ database, projections: [accounts, counts], patienceMs });
  });
  afterEach(() => waitFor.close());

  it("asks the database nothing, however often it is told that it has to wait on", async () => {
    waitFor.reached(at(1));
    const waiting = Promise.all([waitFor.projected(3), waitFor.projected(4), waitFor.projected(3, { timeoutMs: 1 })]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (const position of [2, 3, 4]) waitFor.reached(at(position));
    expect(await waiting).to.deep.equal([true, true, false]);
    expect(looks).to.equal(0);
  });

  it("asks it as soon as the runner writes no more, also for who waits already", async () => {
    waitFor.reached(at(1));
    const waiting = waitFor.projected(2);
    stored = 2;
    waitFor.reached(new Map());
    expect(await waiting).to.equal(true);
    expect(looks).to.be.greaterThan(0);
  });

  it("asks it for what the runner does not write, also where others wait for what it does", async () => {
    waitFor.reached(at(1, [accounts]));
    const told = waitFor.projected(2, { of: ["accounts"] });
    const other = waitFor.projected(2, { of: ["counts"] });
    stored = 2;
    expect(await other).to.equal(true);
    waitFor.reached(at(2, [accounts]));
    expect(await told).to.equal(true);
  });

  it("asks it where no runner is beside it", async () => {
    const waiting = waitFor.projected(2);
    stored = 2;
    expect(await waiting).to.equal(true);
  });

  it("asks it after all where the runner is silent for too long: another instance may have taken over", async () => {
    const short = createWaitFor({ database, projections: [accounts, counts], patienceMs: 1 });
    short.reached(at(1));
    stored = 2;
    expect(await short.projected(2)).to.equal(true);
    short.close();
  });
});
