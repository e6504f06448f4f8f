import { expect } from "chai";
import { logRefusedConnections } from "#src/http/framework/refusedConnections.ts";

describe("refused connections to HTTP", () => {
  it("refused HTTP connections are all counted, and logged once a minute with their number and the newest address", () => {
    const counted: string[] = [];
    const said: unknown[] = [];
    let now = 1_000_000;
    const refuse = logRefusedConnections({
      metrics: { httpRefused: (reason) => void counted.push(reason) },
      logger: { warn: (what: object) => void said.push(what) } as never,
      now: () => now,
    });
    refuse("connections_of_address", "192.0.2.1");
    for (let n = 0; n < 3; n++) refuse("connections", "192.0.2.2");
    now += 59_999;
    refuse("connections", "192.0.2.3");
    now += 1;
    refuse("connections_of_address", "192.0.2.4");
    expect(counted).to.have.length(6);
    expect(said).to.deep.equal([
      { remote: "192.0.2.1", reason: "connections_of_address", refused: 1 },
      { remote: "192.0.2.4", reason: "connections_of_address", refused: 5 },
    ]);
  });
});
