import { expect } from "chai";
import { nextTryAfterMs, usualRetrySeconds } from "#streams/webhook/retrySchedule.ts";

describe("the retry schedule of webhooks", () => {
  it("a webhook waits before each further try as its list says, up to a tenth longer, and then gives up", () => {
    expect([1, 2, 3].map((tries) => nextTryAfterMs(tries, [5, 300], 0))).to.deep.equal([5_000, 300_000, null]);
    expect(nextTryAfterMs(2, [5, 300], 0.5)).to.be.closeTo(315_000, 0.001);
    expect(nextTryAfterMs(1, [], 0)).to.equal(null);
  });

  it("a webhook makes ten tries over about three days by default", () => {
    expect(usualRetrySeconds).to.have.length(9);
    expect(usualRetrySeconds.reduce((sum, seconds) => sum + seconds) / 86_400).to.be.within(3, 3.5);
  });
});
