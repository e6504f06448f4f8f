import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { createPace } from "#src/work/pace.ts";

describe("the pace of statements on the work table", () => {
  /** Whether it goes on without waiting for a timer. */
  async function goesOn(going: Promise<void>): Promise<boolean> {
    let went = false;
    void going.then(() => {
      went = true;
    });
    await turn();
    return went;
  }

  it("holds up nobody after a quiet while, then each but a moment", async () => {
    let ms = 0;
    const pace = createPace({ monotonic: () => ms });
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 10; n++) expect(await goesOn(pace()), `${n}`).to.equal(true);
      const waits = pace();
      expect(await goesOn(waits)).to.equal(false);
      await waits;
      ms += 1_000;
    }
  });

  it("goes on also where a clock stands still", async () => {
    const pace = createPace({ monotonic: () => 0 });
    for (let n = 0; n < 20; n++) await pace();
  });
});
