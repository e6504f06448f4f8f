import { expect } from "chai";
import type { Sql } from "#src/platform/postgres/database.ts";
import { createWaitFor, type WaitFor } from "#src/runtime/projections/waitFor.ts";
import { accounts, counts } from "./support.ts";

describe("waiting for a position in the process of the runner that writes it", () => {
  /** Longer than any test: a read before that time was caused by a waiter, not by the pause's end. */
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

  it("a wait reads nothing from the database while the runner reports that it is not there yet", async () => {
    waitFor.reached(at(1));
    const waiting = Promise.all([waitFor.projected(3), waitFor.projected(4), waitFor.projected(3, { timeoutMs: 1 })]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (const position of [2, 3, 4]) waitFor.reached(at(position));
    expect(await waiting).to.deep.equal([true, true, false]);
    expect(looks).to.equal(0);
  });

  it("a wait reads the database as soon as the runner stops writing, also for a caller that waits already", async () => {
    waitFor.reached(at(1));
    const waiting = waitFor.projected(2);
    stored = 2;
    waitFor.reached(new Map());
    expect(await waiting).to.equal(true);
    expect(looks).to.be.greaterThan(0);
  });

  it("a wait reads the database for a read model that the runner does not write, next to other waits", async () => {
    waitFor.reached(at(1, [accounts]));
    const told = waitFor.projected(2, { of: ["accounts"] });
    const other = waitFor.projected(2, { of: ["counts"] });
    stored = 2;
    expect(await other).to.equal(true);
    waitFor.reached(at(2, [accounts]));
    expect(await told).to.equal(true);
  });

  it("a wait reads the database if no runner is in the process", async () => {
    const waiting = waitFor.projected(2);
    stored = 2;
    expect(await waiting).to.equal(true);
  });

  it("a wait reads the database if the runner is silent for too long: another instance may have taken over", async () => {
    const short = createWaitFor({ database, projections: [accounts, counts], patienceMs: 1 });
    short.reached(at(1));
    stored = 2;
    expect(await short.projected(2)).to.equal(true);
    short.close();
  });

  describe("the pause of a loop of the runner", () => {
    const pauseMs = 50;
    const never = new AbortController().signal;
    const both = [accounts.name, counts.name];
    /** Makes a waiter whose pauses are longer than any test. */
    const patient = (): WaitFor => {
      waitFor.close();
      waitFor = createWaitFor({
        database,
        projections: [accounts, counts],
        patienceMs,
        pauseMs: { main: 3_600_000, independent: 3_600_000 },
      });
      waitFor.reached(at(5));
      return waitFor;
    };
    const isStillAt = async (pausing: Promise<void>): Promise<boolean> => {
      const still = new Promise<boolean>((resolve) => setTimeout(resolve, 20, true));
      return Promise.race([pausing.then(() => false), still]);
    };

    it("a pause of the runner's loop ends by itself while nobody waits", async () => {
      const short = createWaitFor({
        database,
        projections: [accounts, counts],
        patienceMs,
        pauseMs: { main: pauseMs, independent: pauseMs },
      });
      const began = performance.now();
      await short.pauseUnlessAwaited(both, 5, never);
      expect(performance.now() - began).to.be.greaterThan(pauseMs - 2);
      short.close();
    });

    it("a pause of the runner's loop ends as soon as a caller waits for an unwritten position", async () => {
      const { pauseUnlessAwaited, projected } = patient();
      const pausing = pauseUnlessAwaited(both, 5, never);
      expect(await isStillAt(pausing)).to.equal(true);
      const waiting = projected(6);
      await pausing;
      waitFor.reached(at(6));
      expect(await waiting).to.equal(true);
    });

    it("a pause of the runner's loop does not begin while a caller waits", async () => {
      const { pauseUnlessAwaited, projected } = patient();
      const waiting = projected(6);
      await pauseUnlessAwaited(both, 5, never);
      waitFor.reached(at(6));
      expect(await waiting).to.equal(true);
    });

    it("a pause goes on while a caller waits for a read model that is behind, at a position the others have", async () => {
      const { pauseUnlessAwaited, projected, reached } = patient();
      reached(new Map([...at(5, [accounts]), ...at(3, [counts])]));
      const before = projected(4, { of: ["counts"] });
      const pausing = pauseUnlessAwaited(both, 5, never);
      const meanwhile = projected(5, { of: ["counts"] });
      expect(await isStillAt(pausing)).to.equal(true);
      reached(at(5));
      expect(await Promise.all([before, meanwhile])).to.deep.equal([true, true]);
      expect(await isStillAt(pausing)).to.equal(true);
      waitFor.close();
      await pausing;
    });

    it("a pause of the runner's loop ends when the runner stops, and does not begin after that", async () => {
      const { pauseUnlessAwaited } = patient();
      const stopping = new AbortController();
      const pausing = pauseUnlessAwaited(both, 5, stopping.signal);
      expect(await isStillAt(pausing)).to.equal(true);
      stopping.abort();
      await pausing;
      await pauseUnlessAwaited(both, 5, stopping.signal);
    });

    it("a pause of the runner's loop ends when the service closes", async () => {
      const { pauseUnlessAwaited } = patient();
      const pausing = pauseUnlessAwaited(both, 5, never);
      waitFor.close();
      await pausing;
      await pauseUnlessAwaited(both, 5, never);
    });
  });
});
