import { expect } from "chai";
import { createTakeoverGuard } from "#src/runtime/work/takeoverGuard.ts";

const silentMs = 5_001;
const patienceMs = 5_000;

/** After a silence, as one instance sees it: `passed` moves its clock on. */
function instance() {
  let ms = 1_000;
  const takeovers = createTakeoverGuard({ monotonic: () => ms });
  const passed = (more: number): number => {
    ms += more;
    return ms;
  };
  return { ...takeovers, passed };
}

/** One that looks every second, so that PostgreSQL is not silent. */
function looksFor(milliseconds: number, { passed, answered }: ReturnType<typeof instance>): void {
  for (let left = milliseconds; left > 0; left -= 1_000) {
    passed(Math.min(left, 1_000));
    expect(answered()).to.equal(false);
  }
}

describe("taking over claims that have run out", () => {
  it("is allowed while PostgreSQL answers, and not any more when it has been silent for long", () => {
    const one = instance();
    looksFor(20_000, one);
    expect(one.allowed()).to.equal(true);
    one.passed(silentMs - 1);
    expect(one.allowed()).to.equal(true);
    one.passed(1);
    expect(one.allowed()).to.equal(false);
  });

  it("after a silence waits as long as others may need to extend theirs", () => {
    const one = instance();
    one.passed(silentMs);
    expect([one.answered(), one.allowed()]).to.deep.equal([true, false]);
    one.extended(one.passed(0));
    looksFor(patienceMs - 1, one);
    expect(one.allowed()).to.equal(false);
    one.passed(1);
    expect(one.allowed()).to.equal(true);
  });

  it("after a silence waits until its own claims are extended, however long that takes: what was asked before does not count", () => {
    const one = instance();
    const before = one.passed(silentMs);
    one.passed(1);
    one.answered();
    one.extended(before);
    looksFor(2 * patienceMs, one);
    expect(one.allowed()).to.equal(false);
    one.extended(one.passed(0));
    expect(one.allowed()).to.equal(true);
  });
});
