import { expect } from "chai";
import type { Projection } from "#projections/projection.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { createReadiness, type ReadModelReadiness } from "#src/runtime/projections/readiness.ts";
import { accounts, counts, quietLog } from "./support.ts";

/**
 * Stored checkpoints, in place of a database. `ejected`: names of read models that have left the main group; `rebuilding`: positions of
 * rebuilds, of read models that have another version.
 */
function checkpoints(projections: readonly Projection[]) {
  const positions = new Map<string, number>();
  const ejected = new Set<string>();
  const rebuilding = new Map<string, number>();
  let looks = 0;
  const waiting = new Map<number, () => void>();
  const rows = () => {
    looks += 1;
    waiting.get(looks)?.();
    return projections
      .filter(({ name }) => positions.has(name) || rebuilding.has(name))
      .map(({ name, version, independent }) => ({
        ...{ name, version: rebuilding.has(name) ? 0 : version },
        ...{ position: positions.get(name) ?? 0, rebuilt_to: rebuilding.get(name) ?? null },
        checkpoint: independent || ejected.has(name) ? name : "main",
      }));
  };
  return {
    positions,
    ejected,
    rebuilding,
    sql: { query: async () => ({ rows: rows(), rowCount: 0 }) } as unknown as Sql,
    /** Resolves after this many further readiness checks and the one that follows them, because only then their results are used. */
    looked: (times: number): Promise<void> => new Promise((resolve) => waiting.set(looks + times + 1, resolve)),
  };
}

describe("the readiness of read models", () => {
  const beside = { ...counts, name: "beside", independent: true } as const;
  const projections = [accounts, counts, beside];
  let stored: ReturnType<typeof checkpoints>;
  let head: () => Promise<number>;
  let log: ReturnType<typeof quietLog>;
  let readiness: ReadModelReadiness;
  let failing: string[];

  beforeEach(() => {
    stored = checkpoints(projections);
    head = async () => 200;
    log = quietLog();
    failing = [];
    const pace = { catchingUpEveryMs: 2, everyMs: 2, momentMs: 5 };
    readiness = createReadiness({
      ...{ database: stored.sql, store: { head: () => head() }, projections, log, ...pace },
      failing: () => failing,
    });
  });
  afterEach(() => readiness.stop());

  const all = (position: number) => {
    for (const { name } of projections) stored.positions.set(name, position);
  };

  it("read models are not ready before the log's end at the start, and say how far they are", async () => {
    await readiness.start();
    expect(readiness.obstacle(["accounts"])?.sentence).to.include("0 % (position 0 of 200)");
    all(199);
    await stored.looked(2);
    expect(readiness.obstacle(["accounts"])?.sentence).to.include("99 % (position 199 of 200)");
    expect(readiness.catchingUp()).to.include("position 199 of 200");
    expect(log.said.map(({ message }) => message)).to.include("the read models are catching up with the log");
    all(200);
    await stored.looked(2);
    expect(readiness.obstacle(["accounts", "counts", "beside"])).to.equal(undefined);
    expect(readiness.catchingUp()).to.equal(undefined);
    expect(log.said.map(({ message }) => message)).to.include("the read models have caught up");
  });

  it("read models stay ready once they were: later lag is for writes to wait for", async () => {
    all(200);
    await readiness.start();
    head = async () => 100_000;
    await stored.looked(20);
    expect(readiness.obstacle(["accounts", "counts", "beside"])).to.equal(undefined);
  });

  it("read models are not ready while the end of the log is unknown", async () => {
    all(200);
    head = async () => {
      throw new Error("away");
    };
    await readiness.start();
    expect(readiness.obstacle(["accounts"])?.sentence).to.include("cannot be found out");
    head = async () => 200;
    await stored.looked(2);
    expect(readiness.obstacle(["accounts"])).to.equal(undefined);
  });

  it("each read model is ready on its own: a new one delays no other", async () => {
    all(200);
    stored.positions.set("beside", 10);
    await readiness.start();
    expect(readiness.obstacle(["accounts", "counts"])).to.equal(undefined);
    expect(readiness.obstacle(["accounts", "beside"])?.sentence).to.include("5 % (position 10 of 200)");
    expect(readiness.catchingUp(), "an independent read model makes nothing unready").to.equal(undefined);
  });

  it("a read model that the others left behind is not ready until it is back", async () => {
    all(200);
    await readiness.start();
    await stored.looked(2);
    stored.positions.set("accounts", 300).set("beside", 300);
    stored.ejected.add("counts");
    await stored.looked(2);
    expect(readiness.obstacle(["accounts"])).to.equal(undefined);
    expect(readiness.obstacle(["accounts", "counts"])?.sentence).to.include("counts");
    expect(readiness.left()).to.deep.equal(["counts"]);
    expect(readiness.together().map(({ name }) => name)).to.deep.equal(["accounts"]);
    stored.positions.set("counts", 300);
    stored.ejected.delete("counts");
    await stored.looked(2);
    expect(readiness.left()).to.deep.equal([]);
  });

  it("a read model left behind before the start is not ready until it is back, and delays no other", async () => {
    all(200);
    stored.ejected.add("counts");
    stored.positions.set("counts", 10);
    await readiness.start();
    expect(readiness.catchingUp()).to.include("counts at 5 %");
    await stored.looked(16);
    const leftOnly = () => {
      expect(readiness.catchingUp()).to.equal(undefined);
      expect(readiness.left()).to.deep.equal(["counts"]);
      expect(readiness.together().map(({ name }) => name)).to.deep.equal(["accounts"]);
      expect(readiness.obstacle(["accounts", "beside"])).to.equal(undefined);
      expect(readiness.obstacle(["counts"])?.sentence).to.match(/^counts are not up to date; the rest/);
    };
    leftOnly();
    stored.positions.set("counts", 11);
    await stored.looked(2);
    leftOnly();
    all(200);
    stored.ejected.clear();
    await stored.looked(2);
    expect(readiness.left()).to.deep.equal([]);
    expect(readiness.obstacle(["counts"])).to.equal(undefined);
  });

  it("a start waits for a read model that moves, however slowly, and for all if none has reached the end", async () => {
    all(200);
    stored.ejected.add("counts");
    stored.positions.set("counts", 10);
    await readiness.start();
    for (let position = 11; position < 40; position++) {
      stored.positions.set("counts", position);
      await stored.looked(1);
      expect(readiness.catchingUp()).to.include("counts at");
    }
    await readiness.stop();
    stored.ejected.clear();
    all(199);
    stored.positions.set("beside", 200);
    readiness = createReadiness({
      ...{ database: stored.sql, store: { head }, projections, log },
      ...{ catchingUpEveryMs: 2, everyMs: 2, momentMs: 5 },
    });
    await readiness.start();
    await stored.looked(20);
    expect([readiness.catchingUp(), readiness.left()]).to.deep.equal([
      "catching up with the event log: accounts at 99 % (position 199 of 200)",
      [],
    ]);
  });

  it("a start waits for a read model that is rebuilt next to its live tables, unless the rebuild fails", async () => {
    all(200);
    stored.positions.delete("counts");
    await readiness.start();
    await stored.looked(20);
    expect(readiness.catchingUp()).to.include("counts at 0 %");
    stored.rebuilding.set("counts", 50);
    await stored.looked(2);
    expect(readiness.catchingUp()).to.include("counts at 25 % (position 50 of 200)");
    failing = ["counts"];
    await stored.looked(16);
    expect([readiness.catchingUp(), readiness.left()]).to.deep.equal([undefined, ["counts"]]);
  });

  it("a slow independent read model is ready, and one that stands still is not", async () => {
    all(200);
    await readiness.start();
    stored.positions.set("accounts", 300).set("counts", 300);
    for (let position = 201; position < 230; position++) {
      stored.positions.set("beside", position);
      await stored.looked(1);
      expect(readiness.obstacle(["beside"])).to.equal(undefined);
    }
    await stored.looked(13);
    expect(readiness.left()).to.deep.equal(["beside"]);
  });
});
