import { expect } from "chai";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { renewLeases, takeLeases } from "#src/runtime/projections/leases.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const minutes = 60_000;
const RealDate = Date;

describe("leases, on machines whose clocks are ten minutes apart", () => {
  let test: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
  });
  afterEach(async () => {
    globalThis.Date = RealDate;
    await database.close();
    await test.drop();
  });

  /** Sets this machine's clock off by this many milliseconds. */
  function offBy(ms: number): void {
    globalThis.Date = class extends RealDate {
      constructor(...given: []) {
        super(...(given.length > 0 ? given : ([RealDate.now() + ms] as unknown as [])));
      }
      static override now = (): number => RealDate.now() + ms;
    } as DateConstructor;
  }

  const take = async (holder: string): Promise<number[]> =>
    (await takeLeases(database, ["planning"], { holder, lastsMs: 5 * minutes })).map(({ epoch }) => epoch);
  const runOut = () => database.query("update work.leases set expires_at = clock_timestamp() - interval '1 minute'");

  for (const [clock, first, second] of [
    ["before", 10 * minutes, -10 * minutes],
    ["behind", -10 * minutes, 10 * minutes],
  ] as const) {
    it(`a lease lasts as long for an instance whose clock is ${clock} the other's, and is taken over once it expired`, async () => {
      offBy(first);
      expect(await take("first")).to.deep.equal([1]);
      offBy(second);
      expect(await take("second")).to.deep.equal([]);
      offBy(first);
      const held = await renewLeases(database, [{ name: "planning", epoch: 1 }], {
        holder: "first",
        lastsMs: 5 * minutes,
      });
      expect([...held]).to.deep.equal(["planning"]);
      offBy(second);
      expect(await take("second")).to.deep.equal([]);
      await runOut();
      expect(await take("second")).to.deep.equal([2]);
    });
  }
});
