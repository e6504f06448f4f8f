import { expect } from "chai";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";

describe("requests in flight", () => {
  it("a revoked key is remembered for a day, and then forgotten", () => {
    let now = 0;
    const inFlight = createRequestsInFlight({ now: () => now });
    const isDead = (id: string) => {
      const flight = inFlight.enter(id, `call of ${id}`);
      flight.leave();
      return flight.revoked;
    };
    inFlight.revoke("first");
    now = 86_399_999;
    inFlight.revoke("second");
    expect([isDead("first"), isDead("second"), isDead("third")]).to.deep.equal([true, true, false]);
    now = 86_400_000;
    inFlight.revoke("third");
    expect([isDead("first"), isDead("second"), isDead("third")]).to.deep.equal([false, true, true]);
  });
});
