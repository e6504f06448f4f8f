import { expect } from "chai";
import { createTakeoverGuard } from "#src/runtime/work/takeoverGuard.ts";

const silentMs = 5_001;
const patienceMs = 5_000;

/** A guard after an outage, as one instance sees it. `passed` moves its clock forward. */
function instance() {
  let ms = 1_000;
  const takeovers = createTakeoverGuard({ monotonic: () => ms });
  const passed = (more: number): number => {
    ms += more;
    return ms;
  };
  return { ...takeovers, passed };
}

/** Queries once a second for this long, so that PostgreSQL does not seem silent. */
function looksFor(milliseconds: number, { passed, answered }: ReturnType<typeof instance>): void {
  for (let left = milliseconds; left > 0; left -= 1_000) {
    passed(Math.min(left, 1_000));
    expect(answered()).to.equal(false);
  }
}

describe("the takeover of expired claims", () => {
  it("expired claims are taken over while PostgreSQL answers, and not after a long silence", () => {
    const one = instance();
    looksFor(20_000, one);
    expect(one.allowed()).to.equal(true);
    one.passed(silentMs - 1);
    expect(one.allowed()).to.equal(true);
    one.passed(1);
    expect(one.allowed()).to.equal(false);
  });

  it("after a silence, a takeover waits as long as others may need to extend their claims", () => {
    const one = instance();
    one.passed(silentMs);
    expect([one.answered(), one.allowed()]).to.deep.equal([true, false]);
    one.extended(one.passed(0));
    looksFor(patienceMs - 1, one);
    expect(one.allowed()).to.equal(false);
    one.passed(1);
    expect(one.allowed()).to.equal(true);
  });

  it("after a silence, a takeover waits until this instance has extended its own claims, however long that takes", () => {
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
