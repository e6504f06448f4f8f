import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { createPace } from "#src/runtime/projections/pace.ts";

describe("the pace of statements", () => {
  /** Returns true if the promise resolves without waiting for a timer. */
  async function goesOn(going: Promise<void>): Promise<boolean> {
    let went = false;
    void going.then(() => {
      went = true;
    });
    await turn();
    return went;
  }

  it("a paced statement does not wait after a quiet time, and then each waits only a moment", async () => {
    let ms = 0;
    const { next } = createPace({ monotonic: () => ms });
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 10; n++) expect(await goesOn(next()), `${n}`).to.equal(true);
      const waits = next();
      expect(await goesOn(waits)).to.equal(false);
      await waits;
      ms += 1_000;
    }
  });

  it("paced statements continue also if the clock stands still", async () => {
    const { next } = createPace({ monotonic: () => 0 });
    for (let n = 0; n < 20; n++) await next();
  });

  /** Returns how many statements do not wait, at one statement per `everyMs`, after the first ones that always pass. */
  async function unheld({ takingMs, everyMs }: { takingMs: number; everyMs: number }): Promise<number> {
    let ms = 0;
    const { next, taking } = createPace({ monotonic: () => ms });
    let unheld = 0;
    for (let n = 0; n < 60; n++) {
      if (await goesOn(next())) unheld += 1;
      const began = ms;
      await taking(async () => {
        ms += takingMs;
      });
      ms = began + everyMs;
    }
    return unheld;
  }

  it("paced statements are slower if statements take longer, down to a limit", async () => {
    expect(await unheld({ takingMs: 1, everyMs: 20 })).to.equal(60);
    expect(await unheld({ takingMs: 4, everyMs: 20 })).to.be.below(40);
    expect(await unheld({ takingMs: 4, everyMs: 45 })).to.equal(60);
    expect(await unheld({ takingMs: 1_000, everyMs: 1_000 })).to.equal(60);
    expect(await unheld({ takingMs: 40, everyMs: 55 })).to.equal(60);
  });

  it("the pace also counts how long a failed statement took", async () => {
    let ms = 0;
    const { next, taking } = createPace({ monotonic: () => ms });
    const failing = async () => {
      ms += 4;
      throw new Error("locked");
    };
    let held = 0;
    for (let n = 0; n < 60; n++) {
      if (!(await goesOn(next()))) held += 1;
      await taking(failing).catch(() => undefined);
      ms += 16;
    }
    expect(held).to.be.above(20);
  });
});
